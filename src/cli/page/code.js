// `clew annotate --html`: functions with their source lines and instructions, and what each weighs.
const WARM = 0.005, HOT = 0.05; // shares from which on a row is coloured, as in the text
const MOST_INSNS = 2000; // of a function at a time: a browser lays out no more in a moment

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
		const i = shown.index.get(address);
		if (i < shown.from || i >= shown.to) table(i);
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
	const flow_text = (n) => n.executed === undefined ? '' : many(n.executed) + (n.taken === undefined || n.not_taken === undefined ? '' : ` (${Math.round(100 * n.taken / n.executed || 0)} %)`);
	const average = (v) => v === undefined ? '' : v.toFixed(2);
	// Columns of an instruction between its place and its text: title, text, what the title means.
	const flow_columns = (f) => [...(f.flow ? [['Executed', flow_text, (f.flow === 'trace' ? 'Counted in the trace' : 'Of branch stacks of samples') + '; of branches: the part that was taken']] : []),
		...(f.has_cycles ? [['Cycles', (n) => average(n.cycles), 'Of one execution: those of its block, divided by its instructions'],
			['Block', (n) => average(n.block_cycles), `Cycles from ${f.flow === 'trace' ? 'the branch before' : 'the taken branch before'} to here`], ['IPC', (n) => average(n.block_ipc), 'Instructions per cycle in that block']] : [])];

	// What the instructions of one line weigh that follow each other: instruction i is one of them.
	function line_sum(f, i, k) {
		const insns = f.instructions, line = insns[i].line, is_same = (j) => j >= 0 && j < insns.length && insns[j].line === line;
		let sum = 0;
		while (is_same(i - 1)) i--;
		do sum += weight_of(f, i, k); while (is_same(++i));
		return sum;
	}
	const share_cell = (v, all) => el('td', {className: 'number ' + heat(all ? v / all : 0), textContent: v ? percent(v, all) : ''});

	// Instructions from, to - 1.
	function rows(f, lines, from, to) {
		const all = f.events.map((_, k) => whole(f, k)), out = [], targets = new Set(f.instructions.map((n) => n.target).filter((t) => t)), flows = flow_columns(f), lane = (kind, i) => lines ? [lines[kind](i)] : [];
		for (let i = from; i < to; i++) {
			const n = f.instructions[i], l = n.line === undefined ? null : f.lines[n.line];
			if (l && (i === from || f.instructions[i - 1].line !== n.line)) {
				for (const x of (l.inlined || []).slice().reverse())
					out.push(el('tr', {className: 'inlined'}, el('td', {colSpan: f.events.length + 1 + flows.length}), ...lane('source', i), el('td', {textContent: `inlined ${clean(x.function || 'a function')}${x.file ? ' at ' + place(x) : ''}`})));
				out.push(el('tr', {className: 'line', title: clean(l.file || '')}, ...all.map((a, k) => share_cell(line_sum(f, i, k), a)), el('td', {className: 'place', textContent: place(l)}), ...flows.map(() => el('td', {})), ...lane('source', i), el('td', {className: 'source', textContent: l.text === undefined ? '' : clean(l.text.replace(/\t/g, '    '))})));
			}
			const tr = el('tr', {className: 'insn', tabIndex: -1}, ...all.map((a, k) => share_cell(weight_of(f, i, k), a)), el('td', {className: 'place' + (targets.has(n.address) ? ' target' : ''), textContent: n.address}),
				...flows.map(([, text]) => el('td', {className: 'number flow', textContent: text(n)})), ...lane('insn', i), text_of(f, n, n.address));
			tr.dataset.at = n.address;
			tr.dataset.i = i;
			tr.setAttribute('aria-label', `${n.address} ${clean(n.text || '')}, ${percent(weight_of(f, i, 0), all[0])}${n.target ? ', jumps to ' + n.target : ''}`);
			if (n.target) tr.onclick = () => { back.push(n.address); go(n.target); };
			out.push(tr);
		}
		return out;
	}

	// Others before and after those that are shown.
	function more(nr, text, at) {
		const lines = [];
		if (nr) lines.push(el('p', {className: 'more'}, el('button', {textContent: `${many(nr)} more instructions ${text}`, onclick: () => { table(at); go(shown.f.instructions[at].address); }})));
		return lines;
	}

	let shown = {f: null};
	// The instructions around number i.
	function table(i) {
		const f = shown.f, nr = f.instructions.length, from = Math.max(0, Math.min(i - MOST_INSNS / 2, nr - MOST_INSNS)), to = Math.min(nr, from + MOST_INSNS);
		const lines = jump_lines(f, shown.index, from, to), body = el('tbody', {}, ...rows(f, lines, from, to));
		const heads = f.events.map((e) => el('th', {className: 'number', textContent: f.events.length > 1 ? clean(e.name) : e.counts === 'executed' ? 'Executed' : 'Share'}));
		Object.assign(shown, {from, to});
		shown.box.replaceChildren(...more(from, 'before', from), el('table', {className: 'annotated', label: 'Instructions of ' + cut(clean(f.symbol), 200)},
			el('thead', {}, el('tr', {}, ...heads, el('th', {className: 'place', textContent: 'Line or address'}), ...flow_columns(f).map(([title, , text]) => el('th', {className: 'number flow', textContent: title, title: text})), ...(lines ? [lines.head()] : []), el('th', {textContent: 'Source and instructions'}))), body), ...more(nr - to, 'after', to - 1));
		walk_rows(body);
		if (lines) for (const kind of ['mouseover', 'focusin']) body.addEventListener(kind, (e) => {
			const tr = e.target.closest('tr.insn');
			if (tr) lines.light(Number(tr.dataset.i));
		});
	}

	function show(k) {
		const f = fns[k];
		back = [];
		shown = {f, index: new Map(f.instructions.map((n, i) => [n.address, i])), box: el('div', {})};
		hottest = f.instructions.map((n, i) => [weight_of(f, i, 0), n.address]).filter(([v]) => v).sort((a, b) => b[0] - a[0]);
		at = -1;
		const notes = [f.no_code && `The code is not shown: ${clean(f.no_code)}.`, f.events.some((e) => e.may_skid) && 'A sample may be of an instruction after the one that took the time: the event is not precise.'].filter((t) => t);
		$('view').replaceChildren(el('h2', {textContent: `${clean(f.symbol)}  ${clean(f.dso)}`}), ...notes.map((t) => el('p', {className: 'more', textContent: t})), shown.box);
		table(hottest.length ? shown.index.get(hottest[0][1]) : 0);
		for (const tr of $('side').querySelectorAll('tbody tr')) tr.classList.toggle('chosen', Number(tr.dataset.k) === k);
		$('status').textContent = f.events.map((e) => (e.counts === 'executed' ? `${many(whole(f, f.events.indexOf(e)))} instructions executed` : `${samples(e.samples)} of ${clean(e.name)}`)).join(', ');
		$('details').replaceChildren(el('span', {className: 'dim', textContent: `${clean(f.symbol)} in ${clean(f.dso)}: ${many(f.instructions.length)} instruction${f.instructions.length === 1 ? '' : 's'}. Click a jump to follow it, b goes back, n to the next hot one.`}));
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
