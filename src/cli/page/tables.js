// Tables: functions, call tree, threads, events. Every name is text, never markup.
const ROWS = 500;

function cell(text, props) {
	return el('td', {textContent: text, ...props});
}

function share(v, all, css) {
	const bar = el('span', {className: 'bar ' + (css || '')});
	bar.style.width = Math.max(0, Math.min(100, all ? 100 * v / all : 0)) + '%';
	return el('td', {className: 'number share'}, bar, el('span', {className: 'value', textContent: percent(v, all)}));
}

function function_cell(p, f, before) {
	const td = el('td', {className: 'name', title: cut(p.name[f], 300)});
	td.append(...(before || []), el('i', {className: 'dot ' + LEVELS[p.kind[f]].css}), el('span', {textContent: p.name[f]}));
	return td;
}

function header(columns, sort, on_sort) {
	return el('thead', {}, el('tr', {}, ...columns.map(([key, text, css]) => {
		const th = el('th', {className: css || ''});
		if (!key) {
			th.textContent = text;
			return th;
		}
		th.setAttribute('aria-sort', sort.key === key ? (sort.is_up ? 'ascending' : 'descending') : 'none');
		th.append(el('button', {textContent: text + (sort.key === key ? (sort.is_up ? ' \u25b4' : ' \u25be') : ''), onclick: () => on_sort(key)}));
		return th;
	})));
}

const short_path = (text) => text.slice(text.lastIndexOf('/') + 1);

function rows_of(p, c, sort) {
	const order = [];
	for (let f = 1; f < p.name.length; f++)
		if (c.ftotal[f]) order.push(f);
	const by_name = (a, b) => p.name[a] < p.name[b] ? -1 : p.name[a] > p.name[b] ? 1 : a - b;
	const by = {self: (a, b) => c.fself[b] - c.fself[a] || c.ftotal[b] - c.ftotal[a], total: (a, b) => c.ftotal[b] - c.ftotal[a] || c.fself[b] - c.fself[a],
		name: by_name, file: (a, b) => p.file[a] < p.file[b] ? -1 : p.file[a] > p.file[b] ? 1 : 0}[sort.key];
	const text = sort.key === 'name' || sort.key === 'file', sign = sort.is_up === text ? 1 : -1;
	return order.sort((a, b) => sign * by(a, b) || by_name(a, b));
}

function functions_table(p, c, s, on, most) {
	const order = rows_of(p, c, s.sort), hits = on.hits(), has_sources = p.has_sources && s.view === 4;
	const source = (f) => has_sources ? [cell(short_path(p.source[f]), {className: 'file', title: cut(p.source[f], 300)})] : [];
	const body = el('tbody', {}, ...order.slice(0, most).map((f) => {
		const tr = el('tr', {className: (f === s.frame ? 'chosen ' : '') + (hits && hits[f] ? 'hit' : ''), tabIndex: -1, onclick: () => on.choose({frame: f}), ondblclick: () => on.sandwich(f)},
			share(c.fself[f], c.all, LEVELS[p.kind[f]].css), share(c.ftotal[f], c.all, 'pale ' + LEVELS[p.kind[f]].css),
			function_cell(p, f), ...source(f), cell(p.file[f], {className: 'file', title: cut(p.file[f], 300)}));
		tr.dataset.frame = f;
		tr.setAttribute('aria-label', `${p.name[f]}, ${percent(c.fself[f], c.all)} self, ${percent(c.ftotal[f], c.all)} total, ${p.file[f]}`);
		return tr;
	}));
	if (body.firstChild) body.firstChild.tabIndex = 0;
	const table = el('table', {className: 'functions', label: 'Functions'},
		header([['self', 'Self', 'number'], ['total', 'Total', 'number'], ['name', 'Function'], ...(has_sources ? [[null, 'Source', 'file']] : []), ['file', 'File', 'file']], s.sort, on.sort), body);
	walk_rows(body);
	return [table, ...(order.length > most ? [el('p', {className: 'more', textContent: many(order.length - most) + ' more functions: search or filter to see them'})] : [])];
}

// Arrows go from row to row, Enter does what a click does.
function walk_rows(body) {
	body.addEventListener('keydown', (e) => {
		const tr = e.target.closest('tr'), to = e.key === 'ArrowDown' ? tr.nextElementSibling : e.key === 'ArrowUp' ? tr.previousElementSibling : null;
		if (to && to.tabIndex !== undefined) {
			tr.tabIndex = -1;
			to.tabIndex = 0;
			to.focus();
		} else if (e.key === 'Enter') {
			tr.click();
		} else return;
		e.preventDefault();
	});
}

function call_tree(p, c, s, on) {
	const body = el('tbody', {}), hits = on.hits(), MOST = 200;
	const kids = (i) => Array.from(p.kids.subarray(p.first[i], p.first[i + 1])).filter((k) => c.total[k])
		.sort((a, b) => c.total[b] - c.total[a] || (p.name[p.node_frame[a]] < p.name[p.node_frame[b]] ? -1 : 1));
	function row(i, depth) {
		const f = p.node_frame[i], has = kids(i).length > 0, mark = el('span', {className: 'twist', textContent: has ? (s.opened.has(i) ? '\u25be' : '\u25b8') : ''});
		mark.style.marginLeft = Math.min(depth, 60) * 14 + 'px';
		const tr = el('tr', {className: (f === s.frame ? 'chosen ' : '') + (hits && hits[f] ? 'hit' : ''), tabIndex: -1},
			share(c.total[i], c.all, 'pale ' + LEVELS[p.kind[f]].css), share(c.self[i], c.all, LEVELS[p.kind[f]].css), function_cell(p, f, [mark]), cell(p.file[f], {className: 'file'}));
		tr.setAttribute('aria-label', `${p.name[f]}, ${percent(c.total[i], c.all)} total, ${percent(c.self[i], c.all)} self`);
		if (has) tr.setAttribute('aria-expanded', s.opened.has(i));
		tr.setAttribute('aria-level', depth + 1);
		const toggle = (open) => {
			if (!has || s.opened.has(i) === open) return false;
			if (open) s.opened.add(i); else s.opened.delete(i);
			fill();
			return true;
		};
		tr.onclick = () => { on.choose({frame: f, node: i}); toggle(!s.opened.has(i)); body.children[at.get(i)]?.focus(); };
		tr.onkeydown = (e) => {
			if ((e.key === 'ArrowRight' && toggle(true)) || (e.key === 'ArrowLeft' && toggle(false))) { body.children[at.get(i)].focus(); e.preventDefault(); }
		};
		return tr;
	}
	const at = new Map();
	function fill() {
		const rows = [], add = (i, depth) => {
			const list = kids(i);
			for (const k of list.slice(0, MOST)) {
				at.set(k, rows.length);
				rows.push(row(k, depth));
				if (s.opened.has(k) && rows.length < 3000) add(k, depth + 1);
			}
			if (list.length > MOST)
				rows.push(el('tr', {}, el('td', {}), el('td', {}), el('td', {className: 'more', textContent: many(list.length - MOST) + ' more'}), el('td', {})));
		};
		at.clear();
		add(0, 0);
		body.replaceChildren(...rows);
		if (rows.length) rows[0].tabIndex = 0;
	}
	// The heaviest path is open at first.
	if (!s.opened.size)
		for (let i = 0, k; (k = kids(i)[0]) && c.total[k] > c.all / 2; i = k) s.opened.add(k);
	fill();
	walk_rows(body);
	return el('table', {className: 'tree', role: 'treegrid', label: 'Call tree'}, header([[null, 'Total', 'number'], [null, 'Self', 'number'], [null, 'Function'], [null, 'File', 'file']], s.sort), body);
}

const thread_name = (p, i) => {
	const t = p.th[i], names = t.comms.length > 1 ? t.comms.join(' \u2192 ') : t.comm;
	return t.tid < 0 ? names : names + ' ' + t.tid;
};

function threads_table(p, c, s, on, unit) {
	const pids = new Map(), iv = p.iv_to.length ? count_intervals(p, s) : null;
	p.th.forEach((t, i) => {
		if (!p.thread_nr[i]) return;
		const g = pids.get(t.pid) || {weight: 0, threads: []};
		g.weight += c.of_thread[i];
		g.threads.push(i);
		pids.set(t.pid, g);
	});
	const body = el('tbody', {}), number = (text) => cell(text, {className: 'number'});
	let left = 2000;
	for (const [pid, g] of [...pids].sort((a, b) => b[1].weight - a[1].weight)) {
		g.threads.sort((a, b) => c.of_thread[b] - c.of_thread[a] || p.th[a].tid - p.th[b].tid);
		for (const i of g.threads) {
			if (!left--) break;
			const is_first = i === g.threads[0], tr = el('tr', {className: (is_first ? 'group ' : '') + (c.of_thread[i] ? '' : 'off'), tabIndex: -1, title: 'Only this thread', onclick: () => on.only_thread(i)},
				share(c.of_thread[i], c.all, 'user'), number(amount(c.of_thread[i], unit)), number(many(c.nr_thread[i])), ...(iv ? [number(many(iv.switches[i])), number(iv.ran[i] ? duration(iv.ran[i]) : ''), number(iv.waited[i] ? duration(iv.waited[i]) : '')] : []),
				number(is_first && pid >= 0 ? String(pid) : ''), number(p.th[i].tid < 0 ? '' : String(p.th[i].tid)), cell(p.th[i].comms.join(' \u2192 '), {className: 'name'}));
			tr.setAttribute('aria-label', `${thread_name(p, i)}, ${percent(c.of_thread[i], c.all)}`);
			body.append(tr);
		}
	}
	if (body.firstChild) body.firstChild.tabIndex = 0;
	walk_rows(body);
	return el('table', {className: 'threads', label: 'Threads'}, header([[null, 'Share', 'number'], [null, unit === 'ns' ? 'CPU time' : 'Count', 'number'], [null, 'Samples', 'number'], ...(iv ? [[null, 'Switches', 'number'], [null, 'Ran', 'number'], [null, 'Waited', 'number']] : []),
		[null, 'Process', 'number'], [null, 'Thread', 'number'], [null, 'Name']], s.sort), body);
}

function events_table(p, s) {
	const body = el('tbody', {});
	let hidden = 0;
	for (const [t, kind, thread, cpu, number, text] of p.records) {
		if ((!s.is_whole && (t < s.from || t > s.to)) || (s.threads && thread >= 0 && !s.threads[thread])) continue;
		if (body.childElementCount >= 2000) { hidden++; continue; }
		const what = kind === 0 ? many(number) + ' records were lost' : kind === 1 ? 'is named ' + clean(text) + ' from here on' : kind === 2 ? 'ended' : ['the kernel records less: too many interrupts', 'the kernel records all again', 'hardware trace begins', 'hardware trace is missing here: its buffer was full'][kind - 3] || '';
		body.append(el('tr', {className: kind === 0 || kind === 6 ? 'lost' : ''}, cell(duration(t), {className: 'number'}), cell(RECORDS[kind] || ''),
			cell(cpu >= 0 ? String(cpu) : '', {className: 'number'}), cell(thread >= 0 ? thread_name(p, thread) : '', {className: 'name'}), cell(what)));
	}
	const out = [];
	if (p.notes.length)
		out.push(el('div', {className: 'notes'}, el('h2', {textContent: 'What is missing from this recording'}), ...p.notes.map((n) => el('p', {textContent: clean(n)}))));
	if (body.childElementCount)
		out.push(el('table', {className: 'events', label: 'Events'}, header([[null, 'Time', 'number'], [null, 'Event'], [null, 'CPU', 'number'], [null, 'Thread'], [null, 'What']], s.sort), body));
	else
		out.push(el('p', {className: 'empty', textContent: 'Nothing was lost, renamed or ended in the selected time.'}));
	if (hidden + p.more_records)
		out.push(el('p', {className: 'more', textContent: many(hidden + p.more_records) + ' more events'}));
	return out;
}
