// `clew diff --html`: two recordings in one page, q before and p after. Frames and rows are coloured by how their share changed.
const STEPS = 3, FULL_POINTS = 5; // percentage points of the strongest colour

// Is it more than the noise of sampling? Binomial errors of both, and half a sample of each.
function is_significant(a, b, na, nb) {
	if (!na || !nb) return false;
	return Math.abs(b - a) > 2 * Math.sqrt(a * (1 - a) / na + b * (1 - b) / nb) + 0.5 / na + 0.5 / nb;
}

function compare(p, q) {
	const keys = new Map(), key_of = (x) => Array.from(x.pair, (name, f) => {
		const text = f ? name + '\n' + x.pair_file[f] + '\n' + x.kind[f] : '';
		if (!keys.has(text)) keys.set(text, keys.size);
		return keys.get(text);
	});
	p.key = key_of(p);
	q.key = key_of(q);
	const whole = (x) => ({threads: null, cgroup: -1, level: -1, focus: -1, without: -1, event: x.first_event, is_whole: true, from: 0, to: x.end});
	const counts = (x) => ({...count(x, whole(x)), by_key: new Map()});
	const d = {p, q, cp: counts(p), cq: counts(q)};
	for (const [x, c] of [[p, d.cp], [q, d.cq]])
		for (let f = 1; f < x.name.length; f++) {
			const k = x.key[f], v = c.by_key.get(k) || {self: 0, total: 0, f};
			v.self += c.fself[f];
			v.total += c.ftotal[f];
			c.by_key.set(k, v);
		}
	// The same path on the other side: by keys, from the root.
	const numbers = (x, c, into) => {
		const at = new Uint32Array(x.node_parent.length);
		for (let i = 1; i < at.length; i++) {
			const k = at[x.node_parent[i]] + ' ' + x.key[x.node_frame[i]];
			if (!into.path.has(k)) into.path.set(k, into.path.size + 1);
			at[i] = into.path.get(k);
		}
		const sums = new Float64Array(into.path.size + 1);
		for (let i = 1; i < at.length; i++) sums[at[i]] += c.total[i];
		return {at, sums};
	};
	const paths = {path: new Map()};
	d.np = numbers(p, d.cp, paths);
	d.nq = numbers(q, d.cq, paths);
	const part = (sums, i, all) => all && i < sums.length ? sums[i] / all : 0;
	d.shares = (x, node) => {
		const n = (x === p ? d.np : d.nq).at[node];
		return [part(d.nq.sums, n, d.cq.all), part(d.np.sums, n, d.cp.all)];
	};
	d.totals = (x, f) => [d.cq, d.cp].map((c) => c.all ? (c.by_key.get(x.key[f]) || {total: 0}).total / c.all : 0);
	return d;
}

// Blue: less than before; grey: as before; orange: more.
function delta_color([before, after]) {
	const points = 100 * (after - before), step = Math.max(-STEPS, Math.min(STEPS, Math.round(points / FULL_POINTS * STEPS) || (Math.abs(points) > 0.25 ? Math.sign(points) : 0)));
	return `var(--delta${step < 0 ? '-less' + -step : step > 0 ? '-more' + step : ''})`;
}

const points = (d) => (d >= 0 ? '+' : '\u2212') + (100 * Math.abs(d)).toFixed(2);

function compare_rows(d) {
	const name_of = (x, f) => cut(x.pair[f], 400) + LEVELS[x.kind[f]].mark;
	const rows = [];
	for (const k of new Set([...d.cp.by_key.keys(), ...d.cq.by_key.keys()])) {
		const a = d.cq.by_key.get(k), b = d.cp.by_key.get(k), from = a ? a.self / d.cq.all || 0 : 0, to = b ? b.self / d.cp.all || 0 : 0;
		if (from || to) rows.push({name: name_of(...b ? [d.p, b.f] : [d.q, a.f]), file: b ? d.p.pair_file[b.f] : d.q.pair_file[a.f], a: from, b: to, delta: to - from,
			is_new: !from, is_gone: !to, frame: b ? b.f : 0, is_real: is_significant(from, to, d.cq.nr, d.cp.nr)});
	}
	return rows.sort((x, y) => y.delta - x.delta || (x.name < y.name ? -1 : 1));
}

function compare_table(d, on) {
	const all = compare_rows(d), half = 100, rows = all.length > 2 * half ? [...all.slice(0, half), ...all.slice(-half)] : all;
	const body = el('tbody', {}, ...rows.map((r) => {
		const text = r.is_new ? 'new' : r.is_gone ? 'gone' : (r.b / r.a).toFixed(2);
		const tr = el('tr', {className: r.is_real ? '' : 'off', tabIndex: -1, onclick: () => r.frame && on.choose({frame: r.frame})}, share(r.a, 1), share(r.b, 1),
			cell(points(r.delta), {className: 'number ' + (r.is_real ? r.delta > 0 ? 'worse' : 'better' : '')}), cell(r.is_real ? text : text + ' ~', {className: 'number'}),
			el('td', {className: 'name', title: cut(r.name, 300), textContent: r.name}), cell(r.file, {className: 'file'}));
		tr.setAttribute('aria-label', `${r.name}, ${percent(r.a, 1)} before, ${percent(r.b, 1)} after, ${points(r.delta)} points${r.is_real ? '' : ', may be noise'}`);
		return tr;
	}));
	if (body.firstChild) body.firstChild.tabIndex = 0;
	walk_rows(body);
	return [el('table', {className: 'compare', label: 'Functions, before and after'}, header([[null, 'Before', 'number'], [null, 'After', 'number'], [null, 'Points', 'number'], [null, 'Ratio', 'number'], [null, 'Function'], [null, 'File', 'file']], {}), body),
		...(all.length > rows.length ? [el('p', {className: 'more', textContent: many(all.length - rows.length) + ' rows between them that changed less'})] : []),
		el('p', {className: 'more', textContent: '~ and dimmed: the difference may be noise of sampling.'})];
}

async function compare_main(p, q) {
	for (const x of [p, q]) {
		check(x);
		prepare(x);
	}
	const d = compare(p, q), unit = (p.events[p.first_event] || {}).unit || '', frames = {p: 0, q: 0};
	document.title = `clew: ${clean(q.title)} and ${clean(p.title)}`;
	$('title').textContent = cut(clean(q.title), 40) + ' \u2192 ' + cut(clean(p.title), 40);
	without_filters();
	const details = (x, node, f) => {
		const is_here = node > 0, [a, b] = is_here ? d.shares(x, node) : d.totals(x, f);
		$('details').replaceChildren(...(f ? [el('b', {className: 'name', textContent: cut(x.name[f], 160)}), el('span', {className: 'dim', textContent: cut(x.file[f], 60)}),
			el('span', {textContent: `${is_here ? 'here' : 'total'} ${percent(a, 1)} before, ${percent(b, 1)} after: ${points(b - a)} points`})] : [el('span', {className: 'dim', textContent: 'Point at a function to see its share before and after.'})]));
	};
	const views = {};
	const pane = (x, c, name) => {
		const s = {zoom: 0}, box = el('div', {className: 'flame compared'});
		let flame;
		const on = {is_hit: () => false, is_inverted: () => false, counts: () => c, frame: () => frames[name], choose: (e) => { frames[name] = e.frame; details(x, e.node, e.frame); }, hover: (e) => { if (e) details(x, e.node, e.frame); },
			focus: () => {}, zoom: (e) => { s.zoom = e.node; draw(); }, color: (e) => e.frame ? delta_color(d.shares(x, e.node)) : 'var(--root)'};
		const draw = () => {
			flame = flame || make_flame(box, x, on);
			flame.draw(visible_tree(x, c, box.clientWidth, s.zoom), s.zoom, false);
			flame.settle();
		};
		views[name] = {draw, back: () => { s.zoom = 0; draw(); }};
		return box;
	};
	$('main').classList.add('comparing');
	$('view').className = 'view-3';
	$('view').replaceChildren(el('h2', {textContent: `After: ${cut(clean(p.title), 80)}, ${samples(d.cp.nr)}`}), pane(p, d.cp, 'p'), el('h2', {textContent: `Before: ${cut(clean(q.title), 80)}, ${samples(d.cq.nr)}`}), pane(q, d.cq, 'q'));
	$('side').replaceChildren(...compare_table(d, {choose: (e) => details(p, 0, e.frame)}));
	$('legend').replaceChildren(...[['less3', 'less than before'], ['', 'as before'], ['more3', 'more']].map(([css, text]) => el('span', {}, el('i', {className: 'dot delta-' + (css || 'none')}), text)));
	$('status').textContent = `${samples(d.cq.nr)} and ${samples(d.cp.nr)}, ${amount(d.cq.all, unit)} and ${amount(d.cp.all, unit)}`;
	const event = (x) => clean((x.events[x.first_event] || {name: ''}).name);
	if (p.n && q.n && event(p) !== event(q)) notice(`Different events are compared: ${event(q)} before, ${event(p)} after.`, 'warning');
	for (const x of [q, p]) {
		if (!x.n) notice(clean(x.title) + ' has no samples.', 'warning');
		if (x.cut) notice(clean(x.title) + ': ' + clean(x.cut), 'warning');
		if (x.lost) notice(`${clean(x.title)}: ${many(x.lost)} samples or records were lost.`, 'warning');
	}
	details(p, 0, 0);
	const draw = () => { views.p.draw(); views.q.draw(); };
	draw();
	listen_resize(draw);
	const toggle_theme = listen_theme(() => {});
	list_keys([['arrows', 'in a flame graph: caller, callee, siblings'], ['Enter', 'zoom'], ['Esc', 'whole again'], ['t', 'dark or light']]);
	addEventListener('keydown', (e) => {
		if (e.key === 'Escape') { if (!$('help').hidden) toggle_menu('help', 'help-button', false); else { views.p.back(); views.q.back(); } }
		if (e.key === 't' && !e.ctrlKey && !e.metaKey) toggle_theme();
		if (e.key === '?') toggle_menu('help', 'help-button');
	});
	window.clewPage = {p, q, d, rows: () => compare_rows(d)};
}
