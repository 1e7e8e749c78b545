// Flame graphs: d3-flame-graph draws; zoom, keys and names for screen readers are ours.
const CELL = 19;

// A file's own shade of its level's colour.
function shade(text) {
	let h = 0;
	for (let i = 0; i < text.length; i++) h = h * 31 + text.charCodeAt(i) | 0;
	return (h >>> 0) % 3;
}

function make_flame(box, p, on) {
	let chart = null, current = null, all = 1;
	const color = (d) => {
		const f = d.data.frame;
		if (on.color) return on.color(d.data);
		if (!f) return 'var(--root)';
		return on.is_hit(f) ? 'var(--found)' : 'var(--' + LEVELS[p.kind[f]].css + (shade(p.file[f]) || '') + ')';
	};
	const label = (d) => `${d.data.name}\n${p.file[d.data.frame] || ''}\n${percent(d.data.value, all)} of what is selected`;
	const frames = () => [...box.querySelectorAll('g.frame')];
	const data_of = (g) => g.__data__;
	function focus(g) {
		if (!g) return;
		for (const x of box.querySelectorAll('g[tabindex="0"]')) x.setAttribute('tabindex', '-1');
		g.setAttribute('tabindex', '0');
		g.focus({preventScroll: false});
		on.choose(data_of(g).data);
	}
	box.addEventListener('keydown', (e) => {
		const g = e.target.closest('g.frame');
		if (!g) return;
		const d = data_of(g), of = (x) => x && frames().find((y) => data_of(y) === x);
		const row = d.parent ? d.parent.children.filter(of) : [d], i = row.indexOf(d);
		const up = e.key === (on.is_inverted() ? 'ArrowDown' : 'ArrowUp'), down = e.key === (on.is_inverted() ? 'ArrowUp' : 'ArrowDown');
		if (up) focus(of((d.children || []).find((x) => of(x))));
		else if (down) focus(of(d.parent));
		else if (e.key === 'ArrowRight') focus(of(row[i + 1]));
		else if (e.key === 'ArrowLeft') focus(of(row[i - 1]));
		else if (e.key === 'Enter') e.shiftKey ? on.focus(d.data) : on.zoom(d.data);
		else return;
		e.preventDefault();
	});
	box.addEventListener('focusin', (e) => { const g = e.target.closest('g.frame'); if (g) on.choose(data_of(g).data); });
	box.addEventListener('click', (e) => { const g = e.target.closest('g.frame'); if (g) { e.stopImmediatePropagation(); on.zoom(data_of(g).data); } }, true);
	box.addEventListener('mouseover', (e) => { const g = e.target.closest('g.frame'); if (g) on.hover(data_of(g).data); });
	box.addEventListener('mouseleave', () => on.hover(null));

	function draw(root, zoom, is_inverted) {
		const width = Math.max(200, box.clientWidth - 2);
		all = root.value;
		if (!chart) {
			chart = flameGraph.flamegraph().cellHeight(CELL).minFrameSize(0.5).transitionDuration(0).selfValue(false).resetHeightOnZoom(true)
				.sort((a, b) => b.value - a.value || (a.data.name < b.data.name ? -1 : 1)).setColorMapper(color).label(label);
			chart.width(width).inverted(is_inverted);
			flameGraph.select(box).datum(root).call(chart);
		} else {
			chart.width(width).inverted(is_inverted);
			chart.update(root);
		}
		const svg = box.querySelector('svg');
		svg.setAttribute('role', 'tree');
		svg.setAttribute('aria-label', 'Flame graph');
		// The library keeps two rows for a title.
		svg.style.marginTop = is_inverted ? '0' : -2 * CELL + 'px';
		svg.style.marginBottom = is_inverted ? -2 * CELL + 'px' : '0';
		const c = on.counts();
		frames().forEach((g, i) => {
			const d = data_of(g), f = d.data.frame;
			g.setAttribute('role', 'treeitem');
			g.setAttribute('tabindex', i ? '-1' : '0');
			g.setAttribute('aria-label', f ? `${d.data.name}, ${percent(c.fself[f], c.all)} self, ${percent(d.data.value, c.all)} total, ${LEVELS[p.kind[f]].name}` : 'all');
			g.classList.toggle('chosen', f > 0 && f === on.frame());
			g.classList.toggle('above', zoom > 0 && d.data.node !== zoom && d.data.value === root.value && is_above(p, d.data.node, zoom));
			const px = (d.x1 - d.x0) * width;
			g.classList.toggle('narrow', px < 9);
			g.classList.toggle('hair', px < 3);
		});
		current = root;
	}
	// The outermost callers stand at the edge that is seen first.
	const settle = () => { if (chart && !chart.inverted()) box.scrollTop = box.scrollHeight; };
	return {draw, settle, again: () => chart && current && chart.update()};
}

function is_above(p, node, zoom) {
	for (let i = p.node_parent[zoom]; i; i = p.node_parent[i])
		if (i === node) return true;
	return node === 0;
}
