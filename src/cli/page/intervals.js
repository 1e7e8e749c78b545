// What threads did: strips above their samples, and calls one after the other where the range is short.
const STRIP = 3, CALL = 17, MOST_CALLS_NS = 1e6, MOST_CALLS = 2000, MAX_DEPTH = 24;
const INTERVALS = [{css: 'run', name: 'running'}, {css: 'wait', name: 'waiting for a CPU'}], SLEEPS = {name: 'sleeping'};
const HATCH = 5, LEAST_HATCH = 4;

// Long intervals as they are; of those below half a pixel, how much of each pixel they fill.
function draw_intervals(g, p, s, at, w, css) {
	if (!p.iv_to.length) return;
	const bins = INTERVALS.map(() => new Float32Array(p.lanes.length * (w + 1)));
	const y_of = (lane) => lane * LANE + 2, colors = INTERVALS.map((k) => css('--' + k.css));
	for (let i = lower(p.iv_to, s.shown_from); i < p.iv_to.length; i++) {
		const kind = p.iv_kind[i], from = p.iv_to[i] - p.iv_length[i], lane = p.lane_of_thread[p.iv_lane[i]];
		if (kind === SLEEPING || from > s.shown_to || lane < 0 || p.lanes[lane].thread === undefined) continue;
		const x0 = Math.max(GUTTER, at(from)), x1 = Math.min(GUTTER + w, at(p.iv_to[i]));
		if (x1 - x0 >= 0.5) {
			g.fillStyle = colors[kind];
			g.fillRect(x0, y_of(lane), x1 - x0, STRIP);
		} else if (x1 > x0) bins[kind][lane * (w + 1) + Math.floor(x0 - GUTTER)] += x1 - x0;
	}
	bins.forEach((bin, kind) => {
		g.fillStyle = colors[kind];
		for (let b = 0; b < bin.length; b++) {
			if (!bin[b]) continue;
			g.globalAlpha = Math.min(1, 0.25 + bin[b]);
			g.fillRect(GUTTER + b % (w + 1), y_of(Math.floor(b / (w + 1))), 1, STRIP);
		}
	});
	g.globalAlpha = 1;
}

// Lanes of what was not recorded: its thread's, or its CPU's; all where neither is known, or CPUs have no lanes.
const paused_lanes = (p, x) => x.thread >= 0 ? [p.lane_of_thread[x.thread]] : x.thread === undefined ? [] : x.cpu >= 0 && p.lanes[0].cpu !== undefined ? [p.lane_of_cpu[x.cpu]] : [...p.lanes.keys()];

// Times in which nothing was recorded, or some of it was lost: hatched, not by colour alone.
function draw_pauses(g, p, s, at, w, css) {
	const dim = css('--dim'), lost = css('--lost'), h = LANE - 3, drawn_to = {true: p.lanes.map(() => -1), false: p.lanes.map(() => -1)};
	for (const x of p.pauses) {
		if (x.to < s.shown_from || x.from > s.shown_to) continue;
		const x0 = Math.floor(Math.max(GUTTER, at(x.from))), x1 = Math.min(GUTTER + w, Math.max(x0 + LEAST_HATCH, at(x.to)));
		for (const l of paused_lanes(p, x)) {
			if (!(x1 > drawn_to[x.is_lost][l])) continue;
			drawn_to[x.is_lost][l] = x1;
			const y = l * LANE + 2;
			g.save();
			g.beginPath();
			g.rect(x0, y, x1 - x0, h);
			g.clip();
			g.strokeStyle = x.is_lost ? lost : dim;
			g.lineWidth = x.is_lost ? 1.5 : 1;
			g.beginPath();
			for (let k = x0 - x0 % HATCH; k < x1 + h; k += HATCH) {
				g.moveTo(k, y);
				g.lineTo(k - h, y + h);
			}
			g.stroke();
			g.restore();
		}
	}
}

function pause_text(p, lane, t, near) {
	const x = p.pauses.find((k) => k.from - near <= t && t <= k.to + near && paused_lanes(p, k).includes(lane));
	return !x ? '' : x.from === x.to && !x.nr ? ', trace lost: ' + x.why : x.nr ? `, ${x.why}${x.to > x.from ? ' within ' + duration(x.to - x.from) : ''}` : `, nothing recorded for ${duration(x.to - x.from)}: ${x.why}`;
}

// What a thread was in at a time, of one sort of intervals; -1: none.
function interval_at(v, thread, t) {
	for (let i = lower(v.to, t), n = 0; i < v.to.length && n < 1e6; i++, n++)
		if (v.lane[i] === thread && v.to[i] - v.length[i] <= t) return i;
	return -1;
}

const interval_text = (v, i, kinds) => i < 0 ? '' : ', ' + kinds[v.more[i]].name + ' for ' + duration(v.length[i]);

function thread_text(p, thread, t) {
	const {running, level} = p.spans;
	return thread_name(p, thread) + interval_text(running, interval_at(running, thread, t), [...INTERVALS, SLEEPS]) + interval_text(level, interval_at(level, thread, t), LEVELS);
}

// Of traced events: nanoseconds of each level in each bin, of threads and CPUs.
function level_bins(p, s, w) {
	const nr = Math.max(1, Math.floor(w / BIN)), bins = new Float32Array(p.lanes.length * nr * 6), v = p.spans.level, ns = (s.shown_to - s.shown_from) / nr;
	const add = (lane, kind, from, to) => {
		if (lane < 0) return;
		for (let x = Math.max(0, Math.floor((from - s.shown_from) / ns)); x < nr && s.shown_from + x * ns < to; x++)
			bins[(lane * nr + x) * 6 + kind] += Math.min(to, s.shown_from + (x + 1) * ns) - Math.max(from, s.shown_from + x * ns);
	};
	for (let i = lower(v.to, s.shown_from); i < v.to.length; i++) {
		const from = v.to[i] - v.length[i], cpu = p.level_cpu[i];
		if (from > s.shown_to) continue;
		add(p.lane_of_thread[v.lane[i]], v.more[i], from, v.to[i]);
		if (cpu < 65535) add(p.lane_of_cpu[cpu], v.more[i], from, v.to[i]);
	}
	return {bins, nr, max: ns};
}

// What of these some of the recordings have.
function intervals_legend(recordings) {
	const has = (f) => recordings.some((p) => p.n && f(p)), entry = ([css, name]) => el('span', {}, el('i', {className: 'dot ' + css}), name);
	return [...(has((p) => p.iv_to.length) ? INTERVALS.map((k) => [k.css, k.name]) : []), ...(has((p) => p.pauses.some((x) => !x.is_lost)) ? [['paused', 'not recorded']] : []),
		...(has((p) => p.pauses.some((x) => x.is_lost)) ? [['lost', 'lost']] : [])].map(entry);
}

// Nanoseconds of each level of each thread in the selected time.
function count_levels(p, s) {
	const v = p.spans.level, of = p.th.map(() => new Float64Array(LEVELS.length));
	for (let i = lower(v.to, s.from); i < v.to.length; i++) {
		const time = Math.min(v.to[i], s.to) - Math.max(v.to[i] - v.length[i], s.from);
		if (time > 0) of[v.lane[i]][v.more[i]] += time;
	}
	return of;
}

// Of traced events: the time since the one before of their thread, without what it was off the CPU.
function time_weights(p) {
	const out = new Float64Array(p.n), last = new Map(), off = new Float64Array(p.th.length);
	for (let i = 0, v = 0; i < p.n; i++) {
		for (; v < p.iv_to.length && p.iv_to[v] <= p.time[i]; v++)
			if (p.iv_kind[v] !== RUNNING) off[p.iv_lane[v]] += p.iv_length[v];
		const t = p.thread[i], key = t * 256 + p.event[i], before = last.get(key);
		if (before) out[i] = Math.max(0, p.time[i] - before[0] - (off[t] - before[1]));
		last.set(key, [p.time[i], off[t]]);
	}
	return out;
}

// Calls of the thread that was longest in some, where the range is short or has few.
function make_calls(p, s) {
	const v = p.spans.call, ns = new Map(), found = [], is_short = s.shown_to - s.shown_from <= MOST_CALLS_NS;
	if (!p.events[s.event]?.is_traced) return null;
	for (let i = lower(v.to, s.shown_from); i < v.to.length; i++) {
		const from = v.to[i] - v.length[i], t = v.lane[i];
		if (from > s.shown_to || (s.threads && !s.threads[t])) continue;
		found.push(i);
		if (!is_short && found.length > MOST_CALLS) return null;
		ns.set(t, (ns.get(t) || 0) + Math.min(v.to[i], s.shown_to) - Math.max(from, s.shown_from));
	}
	if (!ns.size) return null;
	const thread = [...ns].sort((a, b) => b[1] - a[1])[0][0];
	const slices = found.filter((i) => v.lane[i] === thread).map((i) => ({node: v.more[i], depth: p.depth[v.more[i]] - 1, from: v.to[i] - v.length[i], to: v.to[i]})).filter((c) => c.depth < MAX_DEPTH);
	return {thread, slices, depth: slices.reduce((d, c) => Math.max(d, c.depth + 1), 0)};
}

function draw_calls(p, s, full, w, at, css) {
	const calls = make_calls(p, s), box = of_timeline(p, 'calls');
	box.hidden = !calls;
	p.calls = calls;
	calls_table(p, s, calls);
	if (!calls) return;
	const g = canvas(box, full, calls.depth * CALL + 4);
	g.fillStyle = css('--dim');
	g.fillText(fit(g, 'calls of ' + thread_name(p, calls.thread), GUTTER - 22), 12, CALL / 2 + 2);
	for (const c of calls.slices) {
		const x0 = Math.max(GUTTER, at(c.from)), x1 = Math.min(GUTTER + w, at(c.to)), f = p.node_frame[c.node], y = c.depth * CALL + 2;
		if (x1 - x0 < 0.3) continue;
		g.fillStyle = css('--' + LEVELS[p.kind[f]].css + (shade(p.file[f]) || ''));
		g.fillRect(x0, y, Math.max(0.5, x1 - x0 - 0.5), CALL - 1);
		if (x1 - x0 < 24) continue;
		g.fillStyle = css('--ink');
		g.fillText(fit(g, p.name[f], x1 - x0 - 8), x0 + 4, y + CALL / 2);
	}
	box.setAttribute('aria-label', `${many(calls.slices.length)} calls of ${thread_name(p, calls.thread)} in the range that is shown`);
}

// The longest of them, for those who do not see the picture; none where there is none.
function calls_table(p, s, calls) {
	const key = calls ? [calls.thread, s.shown_from, s.shown_to].join() : '';
	if (p.calls_key === key) return;
	p.calls_key = key;
	if (!calls) {
		of_timeline(p, 'calls-table').replaceChildren();
		return;
	}
	const rows = calls.slices.slice().sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, 100)
		.map((c) => [p.name[p.node_frame[c.node]], duration(c.from), duration(c.to - c.from), c.depth ? p.name[p.node_frame[p.node_parent[c.node]]] : 'nothing']);
	unseen_table(of_timeline(p, 'calls-table'), `The longest calls of ${thread_name(p, calls.thread)} in the range that is shown`, ['Function', 'From', 'Duration', 'Called by'], rows);
}

const call_at = (p, t, y) => p.calls?.slices.find((c) => c.depth === Math.floor((y - 2) / CALL) && c.from <= t && t <= c.to);

// A call with its stack, the innermost function first.
function call_text(p, c) {
	const lines = [`${cut(p.name[p.node_frame[c.node]], 120)}, ${duration(c.to - c.from)} from ${duration(c.from)}`];
	for (let n = p.node_parent[c.node]; n; n = p.node_parent[n]) lines.push('called by ' + cut(p.name[p.node_frame[n]], 120));
	return lines.join('\n');
}
