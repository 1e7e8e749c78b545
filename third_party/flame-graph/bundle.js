// What the page of `clew report --html` needs of npm. flame-graph.js is made of it: update.sh.
import {select} from 'd3-selection';
import flamegraph from 'd3-flame-graph';
window.flameGraph = {select, flamegraph};
