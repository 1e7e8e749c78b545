// `clew diff --html`: two recordings in one page, q before and p after. Rows, and what of them is noise, are those of `clew diff --json`; frames are coloured by how their value changed.
const STEPS = 3, FULL_POINTS = 5; // percentage points of the strongest colour
const NORMS = {share: ['Share of all samples', '%'], ref: ['Percent of the function', '%'], time: ['Per second of the recording', ''], cpu: ['Per second of CPU time', ''], none: ['Totals', '']};

const whole_of = (x, event) => ({threads: null, cgroup: -1, level: -1, focus: -1, without: -1, search: '', event, is_whole: true, from: 0, to: x.end, shown_from: 0, shown_to: x.end});
const key_text = (name, file) => name + '\n' + file;

// Numbers for what pairs in both recordings: functions by name and file, paths by these.
function compare_keys(p, q) {
	const keys = new Map(), key_of = (x) => Array.from(x.pair, (name, f) => {
		const text = f ? key_text(name, x.pair_file[f]) + '\n' + x.kind[f] : '';
		if (!keys.has(text)) keys.set(text, keys.size);
		return keys.get(text);
	});
	p.key = key_of(p);
	q.key = key_of(q);
}

// What the flame graphs show of table t, in the times of sp and sq. Values are those of the table; of a part of the time, shares of that part.
function compare(p, q, t, norm, sp, sq) {
	const is_whole = sp.is_whole && sq.is_whole, is_percent = !is_whole || NORMS[norm][1] === '%';
	const counts = (x, s, e) => {
		const c = {...count(x, s), by_key: new Map()};
		c.factor = is_whole ? (e.period ? e.value / e.period : 0) : c.all ? 100 / c.all : 0;
		for (let f = 1; f < x.name.length; f++) {
			const k = x.key[f];
			c.by_key.set(k, (c.by_key.get(k) || 0) + c.ftotal[f]);
		}
		return c;
	};
	const d = {p, q, is_whole, is_percent, cp: counts(p, sp, t.events[1]), cq: counts(q, sq, t.events[0])};
	// The same path on the other side: by keys, from the root.
	const paths = new Map(), numbers = (x, c) => {
		const at = new Uint32Array(x.node_parent.length);
		for (let i = 1; i < at.length; i++) {
			const k = at[x.node_parent[i]] + ' ' + x.key[x.node_frame[i]];
			if (!paths.has(k)) paths.set(k, paths.size + 1);
			at[i] = paths.get(k);
		}
		const sums = new Float64Array(paths.size + 1);
		for (let i = 1; i < at.length; i++) sums[at[i]] += c.total[i];
		return {at, sums};
	};
	d.np = numbers(p, d.cp);
	d.nq = numbers(q, d.cq);
	const value = (sums, i, c) => i < sums.length ? sums[i] * c.factor : 0;
	d.values = (x, node) => {
		const n = (x === p ? d.np : d.nq).at[node];
		return [value(d.nq.sums, n, d.cq), value(d.np.sums, n, d.cp)];
	};
	d.totals = (x, f) => [d.cq, d.cp].map((c) => (c.by_key.get(x.key[f]) || 0) * c.factor);
	// Percentage points, or of other values percent of the larger whole.
	const all = Math.max(d.cp.all * d.cp.factor, d.cq.all * d.cq.factor);
	d.points = ([before, after]) => is_percent ? after - before : all ? 100 * (after - before) / all : 0;
	return d;
}

// Blue: less than before; grey: as before; orange: more.
function delta_color(points) {
	const step = Math.max(-STEPS, Math.min(STEPS, Math.round(points / FULL_POINTS * STEPS) || (Math.abs(points) > 0.25 ? Math.sign(points) : 0)));
	return `var(--delta${step < 0 ? '-less' + -step : step > 0 ? '-more' + step : ''})`;
}

const signed = (v, text) => (v >= 0 ? '+' : '\u2212') + text(Math.abs(v));

// The rows of a table, with the frame of the later recording, or the earlier one, that each is of.
function compare_rows(d, t) {
	const frames = (x) => new Map(Array.from(x.pair, (name, f) => f).reverse().flatMap((f) => f ? [[key_text(clean(x.strings[x.frame_name[f]]), clean(x.strings[x.frame_dso[f]])), f], [key_text(x.pair[f], x.pair_file[f]), f]] : []));
	const in_p = frames(d.p), in_q = frames(d.q);
	return t.rows.map((r) => {
		const name = clean(r.sym), file = clean(r.dso), k = key_text(name, file), [a, b] = r.values, level = LEVELS.find((l) => l.letter === r.level) || LEVELS[0];
		return {name: cut(name, 400) + level.mark, file, a: a.value, b: b.value, delta: b.delta, ratio: b.ratio, is_new: b.state === 'new', is_gone: b.state === 'gone', is_real: b.significant, error: b.error,
			of: in_p.has(k) ? d.p : d.q, frame: in_p.get(k) || in_q.get(k) || 0};
	});
}

function compare_table(d, t, text, on) {
	const all = compare_rows(d, t), half = 100, rows = all.length > 2 * half ? [...all.slice(0, half), ...all.slice(-half)] : all;
	const wholes = t.events.map((e) => e.value), bar = (v, k) => {
		const td = share(v, wholes[k]);
		td.querySelector('.value').textContent = text(v);
		return td;
	};
	const body = el('tbody', {}, ...rows.map((r) => {
		const ratio = r.is_new ? 'new' : r.is_gone ? 'gone' : r.ratio === null ? '' : r.ratio.toFixed(2);
		const tr = el('tr', {className: r.is_real ? '' : 'off', tabIndex: -1, onclick: () => r.frame && on.choose(r)}, bar(r.a, 0), bar(r.b, 1),
			cell(signed(r.delta, text), {className: 'number ' + (r.is_real ? r.delta > 0 ? 'worse' : 'better' : ''), title: `Standard error: ${text(r.error)}`}), cell(r.is_real ? ratio : ratio + ' ~', {className: 'number'}),
			el('td', {className: 'name', title: cut(r.name, 300), textContent: r.name}), cell(r.file, {className: 'file'}));
		tr.setAttribute('aria-label', `${r.name}, ${text(r.a)} before, ${text(r.b)} after, ${signed(r.delta, text)}${r.is_real ? '' : ', may be noise'}`);
		return tr;
	}));
	if (body.firstChild) body.firstChild.tabIndex = 0;
	walk_rows(body);
	const note = (s) => el('p', {className: 'more', textContent: s});
	return [...(d.is_whole ? [] : [note('This table is of the whole recordings; the flame graphs are of the selected times.')]),
		el('table', {className: 'compare', label: 'Functions, before and after'}, header([[null, 'Before', 'number'], [null, 'After', 'number'], [null, 'Change', 'number'], [null, 'Ratio', 'number'], [null, 'Function'], [null, 'File', 'file']], {}), body),
		...(all.length > rows.length ? [note(many(all.length - rows.length) + ' rows between them')] : []), ...(t.hidden_rows ? [note(many(t.hidden_rows) + ' rows are omitted by the options of clew diff')] : []),
		note('~ and dimmed: the difference may be noise of sampling.')];
}

// The timeline of x, in a section of its own.
function compare_timeline(x, s, label, suffix, select, choose) {
	const box = suffix ? $('timeline').cloneNode(true) : $('timeline');
	if (suffix) {
		for (const e of [box, ...box.querySelectorAll('[id]')]) e.id += suffix;
		for (const e of box.querySelectorAll('[aria-describedby]')) e.setAttribute('aria-describedby', e.getAttribute('aria-describedby').split(' ').map((id) => id + suffix).join(' '));
		$('timeline').before(box); // what was before stands above
	}
	Object.assign(x, {suffix, label, lanes: make_lanes(x)});
	box.setAttribute('aria-label', 'Timeline: ' + label);
	box.classList.add('two');
	box.hidden = !x.n || !x.has_times;
	if (box.hidden) return () => {};
	const draw = () => draw_timeline(x, s);
	listen_timeline(x, s, (a, b) => select(s, selected_range(x, a, b)), (a, b) => { Object.assign(s, shown_range(x, a, b)); draw(); }, {lane: () => {}, choose});
	return draw;
}

async function compare_main(p, q, rows) {
	for (const x of [p, q]) {
		check(x);
		prepare(x);
	}
	compare_keys(p, q);
	// A table's event in a recording: events of one name are told apart by their order.
	const nth = rows.tables.map((t, i) => t.events.map((e, k) => rows.tables.slice(0, i).filter((o) => o.events[k].event === e.event).length));
	const event_of = (x, i, k) => { const all = x.events.map((e, n) => n).filter((n) => x.events[n].name === rows.tables[i].events[k].event); return all[Math.min(nth[i][k], all.length - 1)] ?? -1; };
	const empty = {events: [0, 1].map(() => ({period: 0, value: 0, event: null})), rows: [], hidden_rows: 0}, frames = {p: 0, q: 0}, views = {};
	let table = 0, t = rows.tables[0] || empty, d = null;
	const at = (x, k) => rows.tables.length ? event_of(x, table, k) : -1;
	const sp = whole_of(p, at(p, 1)), sq = whole_of(q, at(q, 0));
	const unit = () => t.events[0].unit || t.events[1].unit || '', text = (v) => d.is_percent || NORMS[rows.normalize][1] === '%' ? v.toFixed(2) + '\u2009%' : amount(v, unit());
	document.title = `clew: ${clean(q.title)} and ${clean(p.title)}`;
	$('title').textContent = cut(clean(q.title), 40) + ' \u2192 ' + cut(clean(p.title), 40);
	without_filters();
	$('whole').hidden = false;
	const details = (x, node, f) => {
		const is_here = node > 0, [a, b] = is_here ? d.values(x, node) : d.totals(x, f);
		$('details').replaceChildren(...(f ? [el('b', {className: 'name', textContent: cut(x.name[f], 160)}), el('span', {className: 'dim', textContent: cut(x.file[f], 60)}),
			el('span', {textContent: `${is_here ? 'here' : 'total'} ${text(a)} before, ${text(b)} after: ${signed(b - a, text)}`})] : [el('span', {className: 'dim', textContent: 'Point at a function to see its values before and after.'})]));
	};
	const pane = (x, name) => {
		const s = {zoom: 0}, box = el('div', {className: 'flame compared'}), c = () => name === 'p' ? d.cp : d.cq;
		let flame;
		const on = {is_hit: () => false, is_inverted: () => false, counts: c, frame: () => frames[name], choose: (e) => { frames[name] = e.frame; details(x, e.node, e.frame); }, hover: (e) => { if (e) details(x, e.node, e.frame); },
			focus: () => {}, zoom: (e) => { s.zoom = e.node; draw(); }, color: (e) => e.frame ? delta_color(d.points(d.values(x, e.node))) : 'var(--root)'};
		const draw = (is_new) => {
			if (is_new) { flame = null; box.replaceChildren(); }
			flame = flame || make_flame(box, x, on);
			if (!c().total[s.zoom]) s.zoom = 0;
			flame.draw(visible_tree(x, c(), box.clientWidth, s.zoom), s.zoom, false);
			flame.settle();
		};
		views[name] = {draw, back: () => { s.zoom = 0; draw(); }};
		return box;
	};
	const heads = {p: el('h2'), q: el('h2')}, all = (c) => d.is_percent ? '' : `, ${text(c.all * c.factor)}`;
	$('main').classList.add('comparing');
	$('view').className = 'view-3';
	$('view').replaceChildren(heads.p, pane(p, 'p'), heads.q, pane(q, 'q'));
	$('legend').replaceChildren(...[['less3', 'less than before'], ['', 'as before'], ['more3', 'more']].map(([css, title]) => el('span', {}, el('i', {className: 'dot delta-' + (css || 'none')}), title)));
	const part = (x, s) => s.is_whole ? '' : ` in ${duration(s.to - s.from)} from ${duration(s.from)}`;
	const times = [];
	const update = () => {
		d = compare(p, q, t, rows.normalize, sp, sq);
		heads.p.textContent = `After: ${cut(clean(p.title), 80)}, ${samples(d.cp.nr)}${all(d.cp)}${part(p, sp)}`;
		heads.q.textContent = `Before: ${cut(clean(q.title), 80)}, ${samples(d.cq.nr)}${all(d.cq)}${part(q, sq)}`;
		$('side').replaceChildren(...compare_table(d, t, text, {choose: (r) => details(r.of, 0, r.frame)}));
		$('status').textContent = `${d.is_whole ? NORMS[rows.normalize][0] + (rows.ref ? ' ' + clean(rows.ref) : '') : 'Shares of the selected times'}: ${samples(d.cq.nr)} and ${samples(d.cp.nr)}, ${amount(d.cq.all, unit())} and ${amount(d.cp.all, unit())}`;
		$('whole').disabled = sp.is_whole && sq.is_whole;
		details(p, 0, 0);
		for (const v of ['p', 'q']) views[v].draw(true);
		for (const draw of times) draw();
		lanes_table(q, sq, d.cq);
		lanes_table(p, sp, d.cp);
	};
	const select = (s, range) => { Object.assign(s, range); update(); };
	const whole = () => { for (const [x, s] of [[p, sp], [q, sq]]) Object.assign(s, whole_of(x, s.event)); update(); };
	const choose_event = (i) => { table = i; t = rows.tables[i]; sp.event = at(p, 1); sq.event = at(q, 0); update(); };
	rows.tables.forEach((x, i) => $('event').append(new Option([...new Set(x.events.map((e) => clean(e.event || 'none')))].join(' and '), i)));
	$('event-label').hidden = rows.tables.length < 2;
	$('event').addEventListener('change', (e) => choose_event(Number(e.target.value)));
	times.push(compare_timeline(q, sq, 'Before', '-before', select, (e) => details(q, 0, e.frame)), compare_timeline(p, sp, 'After', '', select, (e) => details(p, 0, e.frame)));
	if (rows.tables.some((x) => x.events[0].event !== x.events[1].event)) notice(`Different events are compared: ${rows.tables.filter((x) => x.events[0].event !== x.events[1].event).map((x) => `${clean(x.events[0].event || 'none')} before, ${clean(x.events[1].event || 'none')} after`).join('; ')}.`, 'warning');
	for (const x of [q, p]) {
		if (!x.n) notice(clean(x.title) + ' has no samples.', 'warning');
		recording_notices(x, clean(x.title) + ': ');
	}
	$('legend').append(...intervals_legend([q, p]));
	$('whole').addEventListener('click', whole);
	const toggle_theme = listen_theme(() => { if (d) for (const draw of times) draw(); });
	update();
	listen_resize(() => { for (const v of ['p', 'q']) views[v].draw(); for (const draw of times) draw(); });
	list_keys([['arrows', 'in a flame graph: caller, callee, siblings; in a timeline: move the selection'], ['Enter', 'zoom'], ['Esc', 'whole again'], ['drag', 'select time; Ctrl+wheel zooms'], ['Home', 'whole time'], ['t', 'dark or light']]);
	addEventListener('keydown', (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
		if (e.key === 'Escape') { if (!$('help').hidden) toggle_menu('help', 'help-button', false); else { views.p.back(); views.q.back(); } }
		const act = {t: toggle_theme, '?': () => toggle_menu('help', 'help-button'), Home: whole}[e.key];
		if (act) act();
	});
	window.clewPage = {p, q, d: () => d, rows: () => compare_rows(d, t), table: () => t, choose_event, select, sp, sq, whole};
}
