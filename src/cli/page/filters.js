// Filters: menus, chips, and the address bar's fragment that keeps them.
function threads_menu(p, s, on) {
	const box = $('threads-menu'), find = el('input', {type: 'search', placeholder: 'name, process or thread', label: 'Find threads'});
	const list = el('div', {className: 'list'}), order = [...p.th.keys()].filter((i) => p.thread_nr[i]).sort((a, b) => p.thread_nr[b] - p.thread_nr[a]);
	const chosen = () => s.threads || new Uint8Array(p.th.length).fill(1);
	const fill = () => {
		const text = find.value.toLowerCase(), ok = chosen(), found = order.filter((i) => (thread_name(p, i) + ' ' + p.th[i].pid).toLowerCase().includes(text));
		list.replaceChildren(...found.slice(0, 300).map((i) => el('label', {}, el('input', {type: 'checkbox', checked: !!ok[i], onchange: (e) => {
			const now = chosen().slice();
			now[i] = e.target.checked ? 1 : 0;
			on.threads(now);
		}}), el('span', {className: 'name', textContent: thread_name(p, i)}), el('span', {className: 'count', textContent: percent(p.thread_nr[i], p.samples)}))));
		return found;
	};
	const set = (only) => {
		const found = fill(), now = new Uint8Array(p.th.length);
		for (const i of only ? found : order) now[i] = 1;
		on.threads(now);
		fill();
	};
	find.oninput = fill;
	box.replaceChildren(el('div', {className: 'row'}, find, el('button', {textContent: 'Only these', onclick: () => set(true)}), el('button', {textContent: 'All', onclick: () => { find.value = ''; set(false); }})), list);
	fill();
	find.focus();
}

function toggle_menu(id, button, open) {
	const box = $(id);
	open = open ?? box.hidden;
	box.hidden = !open;
	$(button).setAttribute('aria-expanded', open);
	const at = $(button).getBoundingClientRect();
	box.style.top = at.bottom + 6 + 'px';
	box.style.right = Math.max(8, innerWidth - at.right) + 'px';
	return open;
}

// --- what every page has: the theme's button, the list of keys, and parts that it does without ---

// Once, when the size stands still.
function listen_resize(redraw) {
	let timer = 0;
	addEventListener('resize', () => { clearTimeout(timer); timer = setTimeout(redraw, 80); });
}

function listen_theme(redraw) {
	const set = (dark) => {
		document.documentElement.dataset.theme = dark ? 'dark' : 'light';
		$('theme').setAttribute('aria-pressed', dark);
		$('theme').textContent = dark ? 'Light' : 'Dark';
		redraw();
	};
	const toggle = () => set(document.documentElement.dataset.theme !== 'dark');
	$('theme').addEventListener('click', toggle);
	set(matchMedia('(prefers-color-scheme: dark)').matches);
	return toggle;
}

function list_keys(keys) {
	$('help').append(el('h2', {textContent: 'Keys'}), el('dl', {}, ...keys.flatMap(([k, v]) => [el('dt', {textContent: k}), el('dd', {textContent: v})])));
	$('help-button').addEventListener('click', () => toggle_menu('help', 'help-button'));
}

function without_filters() {
	for (const id of ['timeline', 'threads-button', 'whole', 'level-label', 'cgroup-label', 'event-label', 'search-label', 'found', 'chips']) $(id).hidden = true;
}

const notice = (text, css) => $('notices').append(el('p', {className: 'notice ' + (css || ''), textContent: text, title: css === 'line' ? text : ''}));

// What a recording lacks, and what of it the page does not show as it is.
function recording_notices(p, before) {
	const say = (text, css) => notice(before + text, css);
	if (p.cut) say(clean(p.cut), 'warning');
	if (p.lost) say(`${many(p.lost)} samples or records were lost: the kernel could not write them in time. The numbers are of those that remain.`, 'warning');
	if (p.filtered_by_bpf) say(`${many(p.filtered_by_bpf)} samples were filtered by BPF while they were recorded.`);
	if (p.resolution) say(`These are ${many(p.samples)} samples: those of one kind in ${duration(p.resolution)} are counted together, so the time resolution is ${duration(p.resolution)}. Sums are exact.`);
	if (p.rare) say(`${samples(p.rare)} are of stacks and threads that are too rare for a place of their own on this page: they count in "(small)".`);
	if (p.more_intervals) say(`${many(p.more_intervals)} short intervals are not shown: the timeline has the longest of what threads did.`);
	if (p.more_calls) say(`${many(p.more_calls)} calls are not drawn: the timeline has the ${many(p.spans.call.to.length)} longest.`);
	if (p.more_losses) say(`${many(p.more_losses)} more losses are not shown in the timeline.`);
	if (p.more_pauses) say(`${many(p.more_pauses)} more times in which nothing was recorded are not shown.`);
	if (p.small) say(`${many(p.small)} nodes of the call tree have less than 0.001\u2009% of the samples each: they are one child "(small)" of their caller.`);
	if (p.n && !p.has_times) say('These samples have no times: there is no timeline.');
}

function draw_chips(p, s, on) {
	const chips = [], chip = (text, off) => chips.push(el('span', {className: 'chip'}, el('span', {textContent: cut(text, 80)}), el('button', {textContent: '\u00d7', label: 'Remove: ' + cut(text, 80), onclick: off})));
	if (!s.is_whole) chip(`${duration(s.from)} \u2013 ${duration(s.to)}`, on.whole);
	if (s.threads) {
		const ids = [...p.th.keys()].filter((i) => s.threads[i] && p.thread_nr[i]);
		chip(ids.length === 1 ? thread_name(p, ids[0]) : ids.length + ' threads', () => on.threads(null));
	}
	if (s.cgroup >= 0) chip('cgroup ' + clean(p.cgroups[s.cgroup]), () => on.set({cgroup: -1}));
	if (s.level >= 0) chip(LEVELS[s.level].name + ' only', () => on.set({level: -1}));
	if (s.focus >= 0) chip('through ' + p.name[s.focus], () => on.set({focus: -1}));
	if (s.without >= 0) chip('without ' + p.name[s.without], () => on.set({without: -1}));
	$('chips').replaceChildren(...chips);
	$('chips').hidden = !chips.length;
	$('whole').disabled = s.is_whole;
	$('cgroup').value = s.cgroup;
	$('level').value = s.level;
	$('weight').value = s.by_time;
}

function to_fragment(p, s) {
	const f = new URLSearchParams();
	if (!s.is_whole) f.set('t', Math.round(s.from) + ',' + Math.round(s.to));
	if (s.threads) f.set('th', [...p.th.keys()].filter((i) => s.threads[i] && p.thread_nr[i]).join('.'));
	for (const k of ['cgroup', 'level', 'focus', 'without']) if (s[k] >= 0) f.set(k, s[k]);
	for (const [k, d] of [['event', p.first_event], ['zoom', 0], ['frame', 0]]) if (s[k] !== d && s[k] > 0) f.set(k, s[k]);
	if (s.view !== s.first_view) f.set('view', s.view);
	if (s.search) f.set('q', s.search);
	if (s.is_inverted) f.set('i', 1);
	if (s.by_time) f.set('w', 1);
	const text = f.toString();
	if (location.hash.slice(1) !== text)
		history.replaceState(null, '', text ? '#' + text : location.pathname + location.search);
}

function from_fragment(p, s) {
	const f = new URLSearchParams(location.hash.slice(1)), number = (k, most, least) => {
		const v = f.has(k) ? Math.floor(Number(f.get(k))) : NaN;
		return v >= least && v < most ? v : s[k];
	};
	const [a, b] = (f.get('t') || '').split(',').map(Number);
	if (f.has('t') && a >= 0 && b > a) Object.assign(s, {from: a, to: Math.min(b, p.end), is_whole: false});
	if (f.has('th')) {
		s.threads = new Uint8Array(p.th.length);
		for (const i of f.get('th').split('.')) if (i in s.threads) s.threads[i] = 1;
	}
	const frames = p.name.length;
	for (const [k, most, least] of [['cgroup', p.cgroups.length, 0], ['level', 6, 0], ['focus', frames, 0], ['without', frames, 0], ['event', p.events.length, 0],
		['zoom', p.node_parent.length, 0], ['frame', frames, 0], ['view', 7, 1]]) s[k] = number(k, most, least);
	s.search = f.get('q') || '';
	s.is_inverted = f.has('i');
	s.by_time = f.has('w') && p.is_trace ? 1 : 0;
}
