// What threads did: strips above their samples, and calls one after the other where the range is short.
const STRIP = 3, CALL = 17, MOST_CALLS_NS = 1e6, MOST_CALL_SAMPLES = 2000, MAX_DEPTH = 24;
const INTERVALS = [{css: 'run', name: 'running'}, {css: 'wait', name: 'waiting for a CPU'}], SLEEPS = {name: 'sleeping'};
const HATCH = 5;

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

// Times in which nothing was recorded: hatched, not by colour alone.
function draw_pauses(g, p, s, at, w, css) {
	const drawn_to = p.lanes.map(() => -1), dim = css('--dim'), lost = css('--lost'), h = LANE - 3;
	for (const x of p.pauses) {
		if (x.to < s.shown_from || x.from > s.shown_to) continue;
		const x0 = Math.floor(Math.max(GUTTER, at(x.from))), x1 = Math.max(x0 + 1, Math.min(GUTTER + w, at(x.to)));
		for (const l of paused_lanes(p, x)) {
			if (!(x1 > drawn_to[l])) continue;
			drawn_to[l] = x1;
			const y = l * LANE + 2;
			g.save();
			g.beginPath();
			g.rect(x0, y, x1 - x0, h);
			g.clip();
			g.strokeStyle = x.why === 'buffer full' ? lost : dim;
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

function pause_text(p, lane, t) {
	const x = p.pauses.find((k) => k.from <= t && t <= k.to && paused_lanes(p, k).includes(lane));
	return x ? `, nothing recorded for ${duration(x.to - x.from)}: ${x.why}` : '';
}

// The interval of a thread at a time; -1: none.
function interval_at(p, thread, t) {
	for (let i = lower(p.iv_to, t), n = 0; i < p.iv_to.length && n < 1e6; i++, n++)
		if (p.iv_lane[i] === thread && p.iv_to[i] - p.iv_length[i] <= t) return i;
	return -1;
}

const interval_text = (p, i) => i < 0 ? '' : ', ' + [...INTERVALS, SLEEPS][p.iv_kind[i]].name + ' for ' + duration(p.iv_length[i]);

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

// Calls of the thread with most samples: a call lasts as long as samples, one after the other, are in it.
function make_calls(p, s) {
	const lo = lower(p.time, s.shown_from), hi = lower(p.time, s.shown_to + 1), nr = new Map(), slices = [];
	if (!p.is_trace || hi - lo < 2 || (s.shown_to - s.shown_from > MOST_CALLS_NS && hi - lo > MOST_CALL_SAMPLES)) return null;
	const is_shown = (i) => p.event[i] === s.event && (!s.threads || s.threads[p.thread[i]]);
	for (let i = lo; i < hi; i++) if (is_shown(i)) nr.set(p.thread[i], (nr.get(p.thread[i]) || 0) + 1);
	if (!nr.size) return null;
	const thread = [...nr].sort((a, b) => b[1] - a[1])[0][0], open = [];
	const close = (depth, t) => { while (open.length > depth) { const c = open.pop(); c.to = t; slices.push(c); } };
	for (let i = lo; i < hi; i++) {
		if (!is_shown(i) || p.thread[i] !== thread) continue;
		const path = [];
		for (let n = p.stack[i]; n; n = p.node_parent[n]) path.unshift(n);
		let same = 0;
		while (same < open.length && same < path.length && open[same].node === path[same]) same++;
		close(same, p.time[i]);
		for (let d = same; d < path.length && d < MAX_DEPTH; d++) open.push({node: path[d], depth: d, from: p.time[i]});
	}
	close(0, Math.min(s.shown_to, hi < p.n ? p.time[hi] : p.end));
	return {thread, slices, depth: slices.reduce((d, c) => Math.max(d, c.depth + 1), 0)};
}

function draw_calls(p, s, full, w, at, css) {
	const calls = make_calls(p, s), box = $('calls');
	box.hidden = !calls;
	p.calls = calls;
	if (!calls) return;
	const g = canvas('calls', full, calls.depth * CALL + 4);
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
