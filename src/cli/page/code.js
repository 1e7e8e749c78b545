// `clew annotate --html`: functions with their source lines and instructions, and what each weighs.
const WARM = 0.005, HOT = 0.05; // shares from which on a row is coloured, as in the text

async function code_main(data) {
	const fns = data.symbols, place = (l) => l.file ? short_path(clean(l.file)) + (l.line ? ':' + l.line : '') : '';
	let back = [];
	document.title = 'clew annotate' + (fns.length ? ': ' + clean(fns[0].symbol) : '');
	$('title').textContent = 'clew annotate';
	without_filters();
	$('legend').hidden = true;
	for (const f of data.sources) if (f.is_newer) notice(clean(f.path || f.name) + ' was changed after the binary was built: its lines may not be those that ran.', 'warning');
	const weight_of = (f, i, k) => f.events[k].counts === 'executed' ? f.instructions[i].executed || 0 : f.instructions[i].period[k];
	const whole = (f, k) => f.instructions.reduce((s, _, i) => s + weight_of(f, i, k), 0);
	const heat = (v) => v >= HOT ? 'hot' : v >= WARM ? 'warm' : '';

	function go(address) {
		const tr = $('view').querySelector(`tr[data-at="${CSS.escape(address)}"]`);
		if (!tr) return;
		for (const e of $('view').querySelectorAll('tr.chosen')) e.classList.remove('chosen');
		tr.classList.add('chosen');
		tr.tabIndex = 0;
		tr.focus({preventScroll: true});
		tr.scrollIntoView({block: 'center'});
	}

	// Text of an instruction; where it leads to is a button.
	function text_of(f, n, from) {
		const td = el('td', {className: 'code'}, el('span', {textContent: clean(n.text || (n.bytes ? n.bytes + ' bytes' : 'unknown code'))}));
		if (n.target) {
			const b = el('button', {className: 'jump', textContent: '\u2192 ' + n.target, label: `Jump to ${n.target}`, onclick: (e) => { e.stopPropagation(); back.push(from); go(n.target); }});
			td.append(b);
		}
		if (n.callee) td.append(el('span', {className: 'callee', textContent: '\u2192 ' + clean(n.callee) + (n.callee_offset ? '+0x' + n.callee_offset.toString(16) : '')}));
		return td;
	}
	const flow_text = (n) => n.executed === undefined ? '' : many(n.executed) + (n.taken === undefined || n.not_taken === undefined ? '' : ` (${percent(n.taken, n.executed)} taken)`);

	function rows(f) {
		const all = f.events.map((_, k) => whole(f, k)), out = [], targets = new Set(f.instructions.map((n) => n.target).filter((t) => t)), columns = f.events.length + (f.flow ? 3 : 2);
		let last = null, sum = null, cells = null;
		const end_line = () => { if (cells) cells.forEach((c, k) => { c.textContent = sum[k] ? percent(sum[k], all[k]) : ''; c.className = 'number ' + heat(all[k] ? sum[k] / all[k] : 0); }); };
		f.instructions.forEach((n, i) => {
			const l = n.line === undefined ? null : f.lines[n.line];
			if (l && n.line !== last) {
				end_line();
				sum = all.map(() => 0);
				cells = all.map(() => el('td', {className: 'number'}));
				for (const x of (l.inlined || []).slice().reverse())
					out.push(el('tr', {className: 'inlined'}, el('td', {colSpan: columns, textContent: `inlined ${clean(x.function || 'a function')}${x.file ? ' at ' + place(x) : ''}`})));
				out.push(el('tr', {className: 'line', title: clean(l.file || '')}, ...cells, el('td', {className: 'place', textContent: place(l)}), ...(f.flow ? [el('td', {})] : []), el('td', {className: 'source', textContent: l.text === undefined ? '' : clean(l.text.replace(/\t/g, '    '))})));
			}
			if (n.line !== undefined) last = n.line;
			const tr = el('tr', {className: 'insn', tabIndex: -1}, ...all.map((a, k) => {
				const v = weight_of(f, i, k), part = a ? v / a : 0;
				if (sum) sum[k] += v;
				return el('td', {className: 'number ' + heat(part), textContent: v ? percent(v, a) : ''});
			}), el('td', {className: 'place' + (targets.has(n.address) ? ' target' : ''), textContent: n.address}), ...(f.flow ? [el('td', {className: 'number flow', textContent: flow_text(n)})] : []), text_of(f, n, n.address));
			tr.dataset.at = n.address;
			tr.setAttribute('aria-label', `${n.address} ${clean(n.text || '')}, ${percent(weight_of(f, i, 0), all[0])}`);
			if (n.target) tr.onclick = () => { back.push(n.address); go(n.target); };
			out.push(tr);
		});
		end_line();
		return out;
	}

	function show(k) {
		const f = fns[k], body = el('tbody', {}, ...rows(f));
		back = [];
		const heads = f.events.map((e) => el('th', {className: 'number', textContent: f.events.length > 1 ? clean(e.name) : e.counts === 'executed' ? 'Executed' : 'Share'}));
		const notes = [f.no_code && `The code is not shown: ${clean(f.no_code)}.`, f.events.some((e) => e.may_skid) && 'A sample may be of an instruction after the one that took the time: the event is not precise.'].filter((t) => t);
		$('view').replaceChildren(el('h2', {textContent: `${clean(f.symbol)}  ${clean(f.dso)}`}), ...notes.map((t) => el('p', {className: 'more', textContent: t})), el('table', {className: 'annotated', label: 'Instructions of ' + cut(clean(f.symbol), 200)},
			el('thead', {}, el('tr', {}, ...heads, el('th', {className: 'place', textContent: 'Line or address'}), ...(f.flow ? [el('th', {className: 'number flow', textContent: 'Executed'})] : []), el('th', {textContent: 'Source and instructions'}))), body));
		walk_rows(body);
		for (const tr of $('side').querySelectorAll('tbody tr')) tr.classList.toggle('chosen', Number(tr.dataset.k) === k);
		$('status').textContent = f.events.map((e) => (e.counts === 'executed' ? `${many(whole(f, f.events.indexOf(e)))} instructions executed` : `${samples(e.samples)} of ${clean(e.name)}`)).join(', ');
		$('details').replaceChildren(el('span', {className: 'dim', textContent: `${clean(f.symbol)} in ${clean(f.dso)}: ${many(f.instructions.length)} instruction${f.instructions.length === 1 ? '' : 's'}. Click a jump to follow it, b goes back, n to the next hot one.`}));
		hottest = f.instructions.map((n, i) => [whole(f, 0) ? weight_of(f, i, 0) : 0, n.address]).filter(([v]) => v).sort((a, b) => b[0] - a[0]);
		at = -1;
		next_hot(false);
	}
	let hottest = [], at = -1;
	function next_hot(is_key = true) {
		if (!hottest.length) return;
		at = (at + 1) % Math.min(20, hottest.length);
		go(hottest[at][1]);
		if (!is_key) document.activeElement.blur();
	}

	const list = el('tbody', {}, ...fns.map((f, k) => {
		const tr = el('tr', {tabIndex: k ? -1 : 0, onclick: () => show(k)}, cell(f.events.map((e) => many(e.counts === 'executed' ? whole(f, 0) : e.samples)).join(', '), {className: 'number'}), cell(clean(f.symbol), {className: 'name'}), cell(short_path(clean(f.dso)), {className: 'file', title: clean(f.dso)}));
		tr.dataset.k = k;
		tr.setAttribute('aria-label', `${clean(f.symbol)}, ${clean(f.dso)}`);
		return tr;
	}));
	walk_rows(list);
	$('side').replaceChildren(el('table', {className: 'functions', label: 'Functions'}, header([[null, 'Samples', 'number'], [null, 'Function'], [null, 'File', 'file']], {}), list));
	$('main').classList.add('code');
	const toggle_theme = listen_theme(() => {});
	list_keys([['arrows', 'rows'], ['Enter', 'follow the jump'], ['b', 'back from it'], ['n', 'next of the hottest instructions'], ['t', 'dark or light']]);
	addEventListener('keydown', (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		const act = {t: toggle_theme, '?': () => toggle_menu('help', 'help-button'), b: () => { if (back.length) go(back.pop()); }, n: () => next_hot(), Escape: () => toggle_menu('help', 'help-button', false)}[e.key];
		if (act) act();
	});
	if (fns.length) show(Math.max(0, fns.findIndex((f) => !f.no_code)));
	else $('view').replaceChildren(el('div', {className: 'empty'}, el('p', {textContent: 'There is no function to show.'})));
	window.clewPage = {data, show, go};
}
