// The page: what is selected, what is shown of it, and the keys.
const VIEWS = ['', 'Flame graph', 'Call tree', 'Callers and callees', 'Functions', 'Threads', 'Events'];
const KEYS = [['/', 'search; Enter: next, Shift+Enter: previous; Esc clears it'], ['1 to 6', 'views'], ['arrows', 'in the flame graph: caller, callee, siblings; in tables: rows'], ['Enter', 'zoom; Shift+Enter: only stacks through it'],
	['s', 'callers and callees of the chosen function'], ['i', 'turn the flame graph over'], ['Esc', 'search, then zoom, then the selection is cleared'], ['drag', 'select time; Ctrl+wheel zooms'],
	['arrows', 'in the timeline: move the selection; Shift: resize; + \u2212 zoom'], ['Home', 'whole time'], ['t', 'dark or light'], ['Ctrl+C', 'copy the chosen name']];

const MENUS = [['help', 'help-button'], ['threads-menu', 'threads-button']];

async function main() {
	if ($('code-0')) return code_main(await unpack_json('code'));
	const t0 = performance.now(), mark = {}, lap = (k) => { mark[k] = performance.now() - t0; }, p = await unpack('data');
	lap('unpacked');
	if ($('other-0')) return compare_main(p, await unpack('other'), await unpack_json('rows'));
	check(p);
	lap('checked');
	prepare(p);
	lap('prepared');
	const s = {from: 0, to: p.end, is_whole: true, shown_from: 0, shown_to: p.end, threads: null, cgroup: -1, level: -1, event: p.first_event, focus: -1, without: -1,
		search: '', zoom: 0, frame: 0, view: 1, sort: {key: 'self', is_up: false}, is_inverted: false, by_time: 0, opened: new Set()};
	const event = () => p.events[s.event] || {unit: '', name: ''}, unit = () => s.by_time ? 'ns' : event().unit;
	s.view = s.first_view = event().has_stacks || !p.n ? 1 : 4;
	let c, found = null, flame = null, hovered = null;
	document.title = 'clew: ' + clean(p.title);
	$('title').textContent = cut(clean(p.title), 60);
	p.lanes = make_lanes(p);
	p.weight_time = p.is_trace && p.has_times ? time_weights(p) : p.weight;
	lap('lanes');
	from_fragment(p, s);

	const on = {
		hits: () => found && found.hits, is_hit: (f) => !!(found && found.hits[f]), counts: () => c, frame: () => s.frame, is_inverted: () => s.is_inverted,
		choose: (d) => { if (s.frame === d.frame) return; s.frame = d.frame; mark_chosen(); details(); if (s.view === 3) draw_view(); to_fragment(p, s); },
		hover: (d) => { hovered = d && d.frame ? d : null; details(); },
		zoom: (d) => { on.choose(d); if (s.view === 1) { s.zoom = d.node; draw_view(); to_fragment(p, s); } },
		focus: (d) => { if (d.frame) set({focus: d.frame, zoom: 0}); },
		sort: (key) => { s.sort = {key, is_up: s.sort.key === key ? !s.sort.is_up : key === 'name' || key === 'file'}; draw_view(); draw_side(); },
		sandwich: (f) => { s.frame = f; show(3); },
		only_thread: (i) => { const t = new Uint8Array(p.th.length); t[i] = 1; on.threads(t); },
		threads: (t) => { const all = t && [...p.th.keys()].every((i) => t[i] || !p.thread_nr[i]); set({threads: all ? null : t}); },
		whole: () => set({from: 0, to: p.end, is_whole: true, shown_from: 0, shown_to: p.end}),
		set: (x) => set(x),
		lane: (l) => { if (l && l.thread !== undefined) on.only_thread(l.thread); },
	};

	function mark_chosen() {
		for (const e of document.querySelectorAll('.chosen')) e.classList.remove('chosen');
		for (const e of document.querySelectorAll(`tr[data-frame="${s.frame}"]`)) e.classList.add('chosen');
		for (const g of document.querySelectorAll('g.frame')) if (s.frame && g.__data__.data.frame === s.frame) g.classList.add('chosen');
	}

	function details() {
		const d = hovered || {frame: s.frame}, f = d.frame, box = $('details');
		if (!f || !c) {
			box.replaceChildren(el('span', {className: 'dim', textContent: p.n ? 'Point at a function, or choose one, to see its share, its file and what can be done with it.' : ''}));
			return;
		}
		const button = (text, act) => el('button', {textContent: text, onclick: act});
		const part = d.node > 0 ? [el('span', {textContent: 'here ' + percent(c.total[d.node], c.all)})] : [];
		box.replaceChildren(el('i', {className: 'dot ' + LEVELS[p.kind[f]].css}), el('b', {className: 'name', textContent: cut(p.name[f], 160), title: cut(p.name[f], 400)}), ...(p.source[f] ? [el('span', {className: 'source', textContent: cut(short_path(p.source[f]), 60), title: cut(p.source[f], 400)})] : []), el('span', {className: 'dim', textContent: cut(p.file[f], 60)}),
			el('span', {textContent: `self ${amount(c.fself[f], unit())}  ${percent(c.fself[f], c.all)}`}), el('span', {textContent: `total ${amount(c.ftotal[f], unit())}  ${percent(c.ftotal[f], c.all)}`}), ...part,
			el('span', {className: 'space'}), button('Focus', () => on.focus({frame: f})), button('Without', () => set({without: f, zoom: 0})),
			button('Callers and callees', () => on.sandwich(f)), button('Copy', () => navigator.clipboard?.writeText(p.name[f])));
	}

	function empty() {
		const text = p.n ? 'The filters keep none of the ' + samples(event().samples || p.n) + '.' : 'This recording has no samples' + (p.lost ? `: ${many(p.lost)} were lost` : '') + (p.filtered ? `: the options kept none of ${many(p.filtered)}` : '') + '.';
		return el('div', {className: 'empty'}, el('p', {textContent: text}), ...(p.n ? [el('button', {textContent: 'Remove all filters', onclick: clear_all})] : [el('p', {className: 'dim', textContent: "'clew record -g -- COMMAND' records one with call stacks."})]));
	}

	function sandwich(box) {
		if (!s.frame || !c.ftotal[s.frame]) {
			const f = rows_of(p, c, {key: 'total', is_up: false})[0];
			s.frame = s.frame && c.ftotal[s.frame] ? s.frame : f || 0;
		}
		const up = el('div', {className: 'flame up'}), down = el('div', {className: 'flame down'});
		box.replaceChildren(el('h2', {textContent: 'Callers of ' + cut(p.name[s.frame], 120)}), up, el('h2', {textContent: 'Callees'}), down);
		const zoomed = {...on, zoom: on.choose, is_inverted: () => false};
		const above = make_flame(up, p, zoomed);
		above.draw(callers(p, c, s.frame, up.clientWidth), 0, false);
		make_flame(down, p, {...zoomed, is_inverted: () => true}).draw(callees(p, c, s.frame, down.clientWidth), 0, true);
		above.settle();
		details();
	}

	function draw_view() {
		const box = $('view'), t1 = performance.now();
		$('main').classList.toggle('alone', !is_beside());
		$('side').hidden = !is_beside();
		box.className = 'view-' + s.view;
		box.setAttribute('aria-label', VIEWS[s.view]);
		if (!c.nr && s.view !== 6) {
			flame = null;
			box.replaceChildren(empty());
		} else if (s.view === 1) {
			if (!flame) {
				const f = el('div', {className: 'flame'});
				box.replaceChildren(f);
				flame = make_flame(f, p, on);
			}
			if (!c.total[s.zoom]) s.zoom = 0;
			flame.draw(visible_tree(p, c, box.clientWidth, s.zoom), s.zoom, s.is_inverted);
			flame.settle();
		} else {
			flame = null;
			if (s.view === 2) box.replaceChildren(call_tree(p, c, s, on));
			else if (s.view === 3) sandwich(box);
			else if (s.view === 4) box.replaceChildren(...functions_table(p, c, s, on, ROWS));
			else if (s.view === 5) box.replaceChildren(threads_table(p, c, s, on, unit()));
			else box.replaceChildren(...events_table(p, s));
		}
		mark.view = performance.now() - t1;
	}

	const is_beside = () => s.view < 4 && c.nr > 0;
	function draw_side() {
		if (is_beside()) $('side').replaceChildren(...functions_table(p, c, s, on, 200));
	}

	function seek() {
		found = null;
		$('found').textContent = '';
		$('found').className = '';
		if (!s.search) return;
		try {
			found = search(p, c, s.search);
			say_found();
		} catch (e) {
			$('found').textContent = e.message.replace(/^Invalid regular expression: /, '');
			$('found').className = 'wrong';
		}
	}

	const say_found = (at) => {
		$('found').textContent = `${at ? many(at) + ' of ' : ''}${many(found.functions)} function${found.functions === 1 ? '' : 's'}, ${percent(found.weight, c.all)}`;
	};
	// Enter in the search goes from match to match, the heaviest first.
	function next_found(step) {
		if (!found || !found.functions) return;
		const list = rows_of(p, c, {key: 'total', is_up: false}).filter((f) => found.hits[f]), i = list.indexOf(s.frame);
		const at = i < 0 ? (step > 0 ? 0 : list.length - 1) : (i + step + list.length) % list.length;
		on.choose({frame: list[at]});
		say_found(at + 1);
		for (const box of ['view', 'side']) $(box).querySelector('.chosen')?.scrollIntoView({block: 'nearest'});
	}

	function update() {
		const t1 = performance.now();
		c = count(p, s);
		mark.count = performance.now() - t1;
		seek();
		draw_chips(p, s, on); // they move the view; what is beside it does not, and its rows are laid out once
		draw_view();
		draw_side();
		draw_timeline(p, s);
		lanes_table(p, s, c);
		details();
		const is_part = c.nr !== (event().samples || 0);
		$('status').textContent = samples(c.nr) + (is_part ? ` of ${many(event().samples)}` : '') + ', ' + amount(c.all, unit()) + (unit() === 'ns' ? '' : ' ' + cut(clean(event().name), 30));
		to_fragment(p, s);
		Object.assign(mark, {update: performance.now() - t1, samples: c.nr, weight: c.all});
	}
	function set(x) { Object.assign(s, x); update(); }
	function select(a, b) {
		set(selected_range(p, a, b));
	}
	function zoom(a, b) {
		Object.assign(s, shown_range(p, a, b));
		draw_timeline(p, s);
	}
	function show(view) {
		s.view = view;
		for (const b of $('tabs').children) {
			b.setAttribute('aria-selected', Number(b.dataset.view) === view);
			b.tabIndex = Number(b.dataset.view) === view ? 0 : -1;
		}
		if (!c) return;
		draw_view();
		draw_side();
		to_fragment(p, s);
	}
	function clear_all() {
		$('search').value = '';
		set({from: 0, to: p.end, is_whole: true, shown_from: 0, shown_to: p.end, threads: null, cgroup: -1, level: -1, focus: -1, without: -1, search: '', zoom: 0});
	}
	function step_back() {
		for (const [id, b] of MENUS)
			if (!$(id).hidden) { toggle_menu(id, b, false); return; }
		if (s.search) { $('search').value = s.search = ''; seek(); draw_view(); draw_side(); to_fragment(p, s); } else if (s.zoom) set({zoom: 0});
		else if (!s.is_whole) on.whole();
	}
	let toggle_theme = () => {};

	// --- what stands still ---
	VIEWS.slice(1).forEach((name, i) => {
		const b = el('button', {textContent: name, role: 'tab', title: `${name} ( ${i + 1} )`, onclick: () => show(i + 1)});
		b.dataset.view = i + 1;
		b.onkeydown = (e) => { const d = {ArrowRight: 1, ArrowLeft: 5}[e.key]; if (d) { show((i + d) % 6 + 1); $('tabs').children[(i + d) % 6].focus(); } };
		$('tabs').append(b);
	});
	const levels = LEVELS.map((l, k) => k).filter((k) => p.kind.some((x, f) => f && x === k));
	$('legend').append(...levels.map((k) => el('span', {}, el('i', {className: 'dot ' + LEVELS[k].css}), LEVELS[k].name)));
	$('legend').append(...intervals_legend([p]));
	$('level').append(new Option('all', -1), ...levels.map((k) => new Option(LEVELS[k].name, k)));
	$('cgroup').append(new Option('all', -1), ...p.cgroups.map((g, i) => [clean(g), i]).filter(([g]) => g).sort().map(([g, i]) => new Option(cut(g, 80), i)));
	$('cgroup-label').hidden = $('cgroup').length < 3;
	p.events.forEach((e, i) => { if (e.samples) $('event').append(new Option(clean(e.name), i)); });
	$('event-label').hidden = $('event').length < 2;
	$('event').value = s.event;
	list_keys(KEYS);
	recording_notices(p, '');
	if (p.n && !event().has_stacks) notice(`These ${p.is_trace ? 'events' : 'samples'} have no call stacks, so the flame graph is one level high: ${p.is_trace ? "'--itrace=i100usg' makes them of the trace" : "'clew record -g' records them"}.`);
	const nameless = nameless_share(p);
	if (nameless > 0.1) notice(`${percent(nameless, 1)} of the samples are in functions without a name, shown by address. ${nameless_reasons(p)}`, 'line');
	$('timeline').hidden = !p.n || !p.has_times;

	$('search').value = s.search;
	$('search').addEventListener('input', (e) => { s.search = e.target.value; seek(); draw_side(); if (flame) flame.again(); else draw_view(); to_fragment(p, s); });
	$('search').addEventListener('keydown', (e) => { if (e.key === 'Enter') { next_found(e.shiftKey ? -1 : 1); e.preventDefault(); } });
	$('cgroup').addEventListener('change', (e) => set({cgroup: Number(e.target.value)}));
	$('level').addEventListener('change', (e) => set({level: Number(e.target.value)}));
	$('event').addEventListener('change', (e) => set({event: Number(e.target.value), zoom: 0}));
	if (/^instructions/.test(event().name)) $('weight').options[0].text = 'instructions';
	$('weight-label').hidden = !p.is_trace || !p.has_times || !p.n;
	$('weight').addEventListener('change', (e) => set({by_time: Number(e.target.value)}));
	$('whole').addEventListener('click', on.whole);
	$('threads-button').addEventListener('click', () => { if (toggle_menu('threads-menu', 'threads-button')) threads_menu(p, s, on); });
	addEventListener('pointerdown', (e) => { for (const [id, b] of MENUS) if (!$(id).hidden && !$(id).contains(e.target) && !$(b).contains(e.target)) toggle_menu(id, b, false); });
	if (p.n && p.has_times) listen_timeline(p, s, select, zoom, on);
	listen_resize(() => { draw_view(); draw_timeline(p, s); });
	addEventListener('hashchange', () => { from_fragment(p, s); $('search').value = s.search; show(s.view); update(); });
	addEventListener('copy', (e) => { if (!String(getSelection()) && s.frame && e.target.tagName !== 'INPUT') { e.clipboardData.setData('text/plain', p.name[s.frame]); e.preventDefault(); } });
	addEventListener('keydown', (e) => {
		if (e.key === 'Escape') { step_back(); return; }
		if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
		const act = {'/': () => $('search').focus(), t: () => toggle_theme(), '?': () => toggle_menu('help', 'help-button'), Home: on.whole,
			i: () => { s.is_inverted = !s.is_inverted; draw_view(); to_fragment(p, s); }, s: () => show(3)}[e.key];
		if (act) { e.preventDefault(); act(); } else if (e.key >= '1' && e.key <= '6') show(Number(e.key));
	});
	// From 'clew view': it ends when the last page was left.
	if (document.querySelector('meta[http-equiv]').content.includes('connect-src')) {
		const say = (word) => navigator.sendBeacon(word);
		say('hello');
		addEventListener('pageshow', (e) => { if (e.persisted) say('hello'); });
		addEventListener('pagehide', () => say('goodbye'));
	}
	show(s.view);
	toggle_theme = listen_theme(() => draw_timeline(p, s));
	update();
	mark.ready = performance.now() - t0;
	mark.opened = performance.now();
	window.clewPage = {mark, select, set, show, p, s, count: () => c, rows: () => rows_of(p, c, s.sort).map((f) => [p.strings[p.frame_name[f]], p.strings[p.frame_dso[f]], c.fself[f], c.ftotal[f]]), clear: clear_all};
}

main().catch((e) => {
	$('status').textContent = '';
	$('timeline').hidden = true;
	$('view').replaceChildren(el('div', {className: 'empty'}, el('p', {textContent: 'The data of this page cannot be read: ' + e.message + '.'})));
	window.clewPage = {error: e.message};
});
