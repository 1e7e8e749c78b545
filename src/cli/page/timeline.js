// The timeline: lanes of CPUs and threads, samples by pixel and level; what is dragged over is selected.
const LANE = 18, RULER = 22, GUTTER = 168, BIN = 2, MAX_LANES = 2000;

function make_lanes(p) {
	const lanes = [], cpus = new Uint8Array(65536), nr = new Float64Array(p.th.length), pids = new Map();
	for (let i = 0; i < p.n; i++) {
		if (p.cpu[i] < 65535) cpus[p.cpu[i]] = 1;
		nr[p.thread[i]] += p.nr[i];
	}
	const known = Array.from(cpus.keys()).filter((c) => cpus[c]);
	p.lane_of_cpu = new Int32Array(65536).fill(-1);
	p.lane_of_thread = new Int32Array(p.th.length).fill(-1);
	// One thread is one lane: CPUs would show the same again.
	for (const c of nr.filter((x) => x).length > 1 ? known.slice(0, MAX_LANES / 2) : []) {
		p.lane_of_cpu[c] = lanes.length;
		lanes.push({name: 'CPU ' + c, cpu: c});
	}
	p.th.forEach((t, i) => {
		if (!nr[i]) return;
		const g = pids.get(t.pid) || {nr: 0, threads: []};
		g.nr += nr[i];
		g.threads.push(i);
		pids.set(t.pid, g);
	});
	for (const g of [...pids.values()].sort((a, b) => b.nr - a.nr))
		for (const i of g.threads.sort((a, b) => nr[b] - nr[a])) {
			if (lanes.length < MAX_LANES) {
				lanes.push({name: p.th[i].comm, id: p.th[i].tid, thread: i, is_first: i === g.threads[0]});
			} else if (!lanes.rest) {
				lanes.rest = true;
				lanes.push({name: 'all others', is_first: true});
			}
			p.lane_of_thread[i] = lanes.length - 1;
		}
	p.thread_nr = nr;
	const gaps = p.dt.slice(0, 10000).sort();
	p.usual_dt = gaps.length ? gaps[gaps.length >> 1] : 1;
	return lanes;
}

function make_bins(p, s, w) {
	if (p.events[s.event]?.is_traced && p.spans.level.to.length) return level_bins(p, s, w);
	// Wide enough for about ten samples of a busy lane, where there are few: fewer would flicker.
	const bin = Math.max(BIN, Math.min(8, 10 * p.usual_dt / (s.shown_to - s.shown_from) * w));
	const nr = Math.max(1, Math.floor(w / bin)), lanes = p.lanes.length, bins = new Uint32Array(lanes * nr * 6);
	const scale = nr / (s.shown_to - s.shown_from), lo = lower(p.time, s.shown_from), hi = lower(p.time, s.shown_to + 1);
	for (let i = lo; i < hi; i++) {
		if (p.event[i] !== s.event) continue;
		const x = Math.min((p.time[i] - s.shown_from) * scale | 0, nr - 1), k = p.node_level[p.stack[i]];
		const a = p.cpu[i] < 65535 ? p.lane_of_cpu[p.cpu[i]] : -1, b = p.lane_of_thread[p.thread[i]];
		if (a >= 0) bins[(a * nr + x) * 6 + k] += p.nr[i];
		if (b >= 0) bins[(b * nr + x) * 6 + k] += p.nr[i];
	}
	// The height of a full lane: what the densest bins have, but for outliers.
	const sums = [];
	for (let b = 0; b < bins.length; b += 6) {
		const sum = bins[b] + bins[b + 1] + bins[b + 2] + bins[b + 3] + bins[b + 4] + bins[b + 5];
		if (sum) sums.push(sum);
	}
	sums.sort((a, b) => a - b);
	return {bins, nr, max: sums.length ? Math.max(1, sums[Math.floor(sums.length * 0.98)]) : 1};
}

// A page of two recordings has two timelines: ids of the other one have a suffix.
const of_timeline = (p, id) => $(id + (p.suffix || ''));

function canvas(cv, w, h) {
	const dpr = devicePixelRatio || 1, g = cv.getContext('2d');
	cv.style.width = w + 'px';
	cv.style.height = h + 'px';
	cv.width = Math.round(w * dpr);
	cv.height = Math.round(h * dpr);
	g.scale(dpr, dpr);
	g.font = '11px system-ui, sans-serif';
	g.textBaseline = 'middle';
	return g;
}

function fit(g, text, width) {
	if (g.measureText(text).width <= width) return text;
	let lo = 0, hi = text.length;
	while (lo < hi) {
		const mid = (lo + hi + 1) >> 1;
		if (g.measureText(text.slice(0, mid) + '\u2026').width <= width) lo = mid; else hi = mid - 1;
	}
	return text.slice(0, lo) + '\u2026';
}

function draw_ruler(g, s, w, css, label) {
	const range = s.shown_to - s.shown_from, raw = range / Math.max(2, w / 110), pow = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map((m) => m * pow).find((m) => m >= raw), units = [1e9, 1e6, 1e3, 1];
	let unit = units.find((u) => range >= u) || 1;
	while (unit < 1e9 && s.shown_to / unit > 99999) unit *= 1e3; // long numbers are hard to compare
	const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / unit) - 1e-9)));
	const suffix = {1e9: ' s', 1e6: ' ms', 1e3: ' \u00b5s', 1: ' ns'}[unit];
	g.fillStyle = css('--dim');
	g.strokeStyle = css('--line');
	if (label) g.fillText(label, 12, 11);
	for (let t = Math.ceil(s.shown_from / step) * step; t <= s.shown_to; t += step) {
		const x = Math.round(GUTTER + (t - s.shown_from) / range * w) + 0.5, text = (t / unit).toFixed(digits) + suffix;
		g.beginPath();
		g.moveTo(x, RULER - 5);
		g.lineTo(x, RULER);
		g.stroke();
		const half = g.measureText(text).width / 2;
		if (x + half < GUTTER + w)
			g.fillText(text, Math.max(GUTTER, x - half), 9);
	}
}

function draw_timeline(p, s) {
	if (!p.has_times || !p.n) return;
	const css0 = getComputedStyle(document.documentElement), css = (v) => css0.getPropertyValue(v).trim();
	const full = of_timeline(p, 'lanes').clientWidth, w = full - GUTTER - 10, h = p.lanes.length * LANE;
	const g = canvas(of_timeline(p, 'time'), full, h), range = s.shown_to - s.shown_from, key = [w, s.shown_from, s.shown_to, s.event].join();
	if (p.bins_key !== key) {
		p.bins = make_bins(p, s, w);
		p.bins_key = key;
	}
	const {bins, nr, max} = p.bins, colors = LEVELS.map((l) => css('--' + l.css)), bw = w / nr;
	const at = (t) => GUTTER + (t - s.shown_from) / range * w;
	draw_ruler(canvas(of_timeline(p, 'ruler'), full, RULER), s, w, css, p.label);
	p.lanes.forEach((lane, l) => {
		const y0 = l * LANE, is_off = lane.thread !== undefined && s.threads && !s.threads[lane.thread];
		g.globalAlpha = 1;
		if (lane.is_first) {
			g.fillStyle = css('--line');
			g.fillRect(0, y0, full, 1);
		}
		g.fillStyle = css('--lane');
		g.fillRect(GUTTER, y0 + 2, w, LANE - 3);
		g.globalAlpha = is_off ? 0.3 : 1;
		g.fillStyle = css(lane.cpu === undefined ? '--fg' : '--dim');
		const id = lane.id >= 0 ? String(lane.id) : '', iw = id ? g.measureText(id).width + 8 : 0;
		g.fillText(fit(g, lane.name, GUTTER - 22 - iw), 12, y0 + LANE / 2 + 0.5);
		g.fillStyle = css('--dim');
		if (id) g.fillText(id, GUTTER - 10 - iw + 8, y0 + LANE / 2 + 0.5);
		for (let x = 0; x < nr; x++) {
			let y = y0 + LANE - 1;
			for (let k = 5, b = (l * nr + x) * 6; k >= 0; k--) {
				const v = bins[b + [1, 2, 3, 4, 5, 0][5 - k]];
				if (!v) continue;
				const hh = Math.min(y - y0 - 2, Math.max(2, v / max * (LANE - 3)));
				if (hh <= 0) break;
				g.fillStyle = colors[[1, 2, 3, 4, 5, 0][5 - k]];
				g.fillRect(GUTTER + x * bw, y - hh, bw + 0.25, hh);
				y -= hh;
			}
		}
	});
	g.globalAlpha = 1;
	draw_intervals(g, p, s, at, w, css);
	draw_pauses(g, p, s, at, w, css);
	if (!s.is_whole) {
		const a = Math.max(GUTTER, Math.min(GUTTER + w, at(s.from))), b = Math.max(GUTTER, Math.min(GUTTER + w, at(s.to)));
		g.fillStyle = css('--veil');
		g.fillRect(GUTTER, 0, a - GUTTER, h);
		g.fillRect(b, 0, GUTTER + w - b, h);
		g.fillStyle = css('--accent');
		g.fillRect(a - 1, 0, 1.5, h);
		g.fillRect(b - 0.5, 0, 1.5, h);
	}
	draw_calls(p, s, full, w, at, css);
	const what = s.is_whole ? 'whole time, ' + duration(p.end) : duration(s.to - s.from) + ' from ' + duration(s.from);
	of_timeline(p, 'time').setAttribute('aria-label', `${p.label ? p.label + ': timeline' : 'Timeline'} of ${p.lanes.length} lanes, selected: ${what}. Arrows move the selection, Shift resizes it, plus and minus zoom.`);
}

// What the picture shows, for those who do not see it: each lane and its samples in the selection, at which levels it ran, and what is missing.
function lanes_table(p, s, c) {
	if (!p.has_times || !p.n) return;
	const spent = count_intervals(p, s), levels = count_levels(p, s), has = LEVELS.map((_, k) => levels.some((l) => l[k] > 0));
	const more = [...(p.iv_to.length ? [['Running', (t) => duration(spent.ran[t])], ['Waiting for a CPU', (t) => duration(spent.waited[t])]] : []),
		...LEVELS.map((l, k) => [`Traced: ${l.name}`, (t) => duration(levels[t][k])]).filter((_, k) => has[k])];
	const rows = p.lanes.filter((l) => l.thread !== undefined && c.nr_thread[l.thread]).slice(0, 100)
		.map((l) => [thread_name(p, l.thread), samples(c.nr_thread[l.thread]), percent(c.of_thread[l.thread], c.all), ...more.map(([, text]) => text(l.thread))]);
	unseen_table(of_timeline(p, 'lanes-table'), 'Threads in the selected time', ['Thread', 'Samples', 'Share', ...more.map(([name]) => name)], rows);
	const gaps = p.pauses.filter((x) => x.to >= s.from && x.from <= s.to && x.thread !== undefined);
	unseen_table(of_timeline(p, 'gaps-table'), `Times without recording or with losses in the selected time: ${many(gaps.length)}`, ['From', 'Duration', 'Where', 'What'],
		gaps.slice(0, 100).map((x) => [duration(x.from), duration(x.to - x.from), x.thread >= 0 ? thread_name(p, x.thread) : x.cpu >= 0 ? 'CPU ' + x.cpu : 'everywhere', x.why]));
}

function unseen_table(table, caption, heads, rows) {
	table.replaceChildren(el('caption', {textContent: caption}), el('thead', {}, el('tr', {}, ...heads.map((t) => el('th', {textContent: t, scope: 'col'})))),
		el('tbody', {}, ...rows.map(([name, ...cells]) => el('tr', {}, el('th', {textContent: name, scope: 'row'}), ...cells.map((t) => el('td', {textContent: t}))))));
}

// Ranges within the recording's time: a selection, and what is in sight.
function selected_range(p, a, b) {
	a = Math.max(0, Math.min(a, p.end));
	b = Math.max(a + 1, Math.min(b, p.end));
	return {from: a, to: b, is_whole: a <= 0 && b >= p.end};
}
const shown_range = (p, a, b) => ({shown_from: Math.max(0, a), shown_to: Math.min(p.end, Math.max(b, Math.max(0, a) + 1000))});

const lane_text = (p, lane, l, t, near) => (lane.thread === undefined ? lane.name : thread_text(p, lane.thread, t)) + pause_text(p, l, t, near) + ', ' + duration(t);

// --- by hand: drag, wheel, keys. select(from, to), zoom(from, to) are the app's ---
function listen_timeline(p, s, select, zoom, tell) {
	const cv = of_timeline(p, 'time');
	const time_at = (x) => s.shown_from + Math.max(0, Math.min(1, (x - GUTTER) / (cv.clientWidth - GUTTER - 10))) * (s.shown_to - s.shown_from);
	let from = null, last = null;
	cv.addEventListener('pointerdown', (e) => {
		if (e.button !== 0) return;
		if (e.offsetX < GUTTER) {
			tell.lane(p.lanes[Math.floor(e.offsetY / LANE)]);
			return;
		}
		from = e.offsetX;
		cv.setPointerCapture(e.pointerId);
	});
	cv.addEventListener('pointermove', (e) => {
		const lane = p.lanes[Math.floor(e.offsetY / LANE)];
		cv.title = lane ? lane_text(p, lane, Math.floor(e.offsetY / LANE), time_at(e.offsetX), time_at(e.offsetX + 2) - time_at(e.offsetX)) : '';
		if (from === null || Math.abs(e.offsetX - from) < 4) return;
		last = [from, e.offsetX].map(time_at).sort((a, b) => a - b);
		Object.assign(s, {from: last[0], to: last[1], is_whole: false});
		draw_timeline(p, s);
	});
	cv.addEventListener('pointerup', () => {
		if (last) select(...last);
		from = last = null;
	});
	cv.addEventListener('dblclick', (e) => {
		const lane = p.lanes[Math.floor(e.offsetY / LANE)], i = lane && lane.thread !== undefined ? interval_at(p.spans.running, lane.thread, time_at(e.offsetX)) : -1;
		if (e.offsetX > GUTTER) i < 0 ? select(s.shown_from, s.shown_to) : select(p.iv_to[i] - p.iv_length[i], p.iv_to[i]);
	});
	const calls = of_timeline(p, 'calls');
	calls.addEventListener('pointermove', (e) => {
		const c = e.offsetX < GUTTER ? null : call_at(p, time_at(e.offsetX), e.offsetY);
		calls.title = c ? call_text(p, c) : '';
	});
	calls.addEventListener('click', (e) => {
		const c = e.offsetX < GUTTER ? null : call_at(p, time_at(e.offsetX), e.offsetY);
		if (c) tell.choose({frame: p.node_frame[c.node]});
	});
	const zoom_by = (f, t) => zoom(t - (t - s.shown_from) * f, t + (s.shown_to - t) * f);
	cv.addEventListener('wheel', (e) => {
		if (!e.ctrlKey) return;
		e.preventDefault();
		zoom_by(e.deltaY > 0 ? 1.25 : 0.8, time_at(e.offsetX));
	}, {passive: false});
	cv.addEventListener('keydown', (e) => {
		const d = (s.to - s.from) / 10, middle = (s.from + s.to) / 2;
		const act = {
			ArrowLeft: () => e.shiftKey ? select(s.from, s.to - d) : select(Math.max(0, s.from - d), s.to - Math.min(d, s.from)),
			ArrowRight: () => e.shiftKey ? select(s.from, s.to + d) : select(s.from + Math.min(d, p.end - s.to), Math.min(p.end, s.to + d)),
			'+': () => zoom_by(0.8, middle), '-': () => zoom_by(1.25, middle)}[e.key];
		if (!act) return;
		e.preventDefault();
		if (s.is_whole && e.key.startsWith('Arrow')) select(p.end * 0.25, p.end * 0.75); else act();
	});
}
