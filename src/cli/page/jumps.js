// Jumps inside a function as lines left of its instructions. Which jump has a line, and in which lane, is in the data: lane 0 is next to the instructions.
const JUMP_LANE = 9, JUMP_END = 12; // pixels

// One line in one row: it begins or ends there, or passes.
function jump_part(j, css) {
	const e = el('i', {className: 'lane ' + css});
	e.style.width = j.lane * JUMP_LANE + JUMP_END + 'px';
	j.parts.push(e);
	return e;
}

// Of the instructions from, to - 1; index: of instructions by address. null: there is no line to draw.
function jump_lines(f, index, from, to) {
	const through = new Map(), ends = new Map(), add = (map, i, j) => { if (map.has(i)) map.get(i).push(j); else map.set(i, [j]); };
	let nr = 0;
	f.instructions.forEach((n, at) => {
		const target = n.lane === undefined ? undefined : index.get(n.target);
		if (target === undefined) return;
		const j = {to: target, lane: n.lane, first: Math.min(at, target), last: Math.max(at, target), parts: []};
		if (j.last < from || j.first >= to) return;
		for (let i = Math.max(j.first, from); i <= Math.min(j.last, to - 1); i++) add(through, i, j);
		for (const i of new Set([j.first, j.last])) add(ends, i, j);
		nr = Math.max(nr, n.lane + 1);
	});
	if (!nr) return null;
	const css = (j, i) => (j.first === j.last ? 'self' : i === j.first ? 'first' : i === j.last ? 'last' : 'pass') + (i === j.to ? ' to' : '');
	let lit = [];
	return {
		head() {
			const th = el('th', {className: 'lanes', label: 'Jumps'});
			th.style.width = th.style.minWidth = (nr - 1) * JUMP_LANE + JUMP_END + 8 + 'px';
			return th;
		},
		insn: (i) => el('td', {className: 'lanes'}, ...(through.get(i) || []).map((j) => jump_part(j, css(j, i)))),
		// A row of source before instruction i: what comes from above it.
		source: (i) => el('td', {className: 'lanes'}, ...(through.get(i) || []).filter((j) => j.first < i).map((j) => jump_part(j, 'pass'))),
		// Those that begin or end at instruction i stand out.
		light(i) {
			for (const e of lit) e.classList.remove('lit');
			lit = (ends.get(i) || []).flatMap((j) => j.parts);
			for (const e of lit) e.classList.add('lit');
		}
	};
}
