// Counting: one pass over the samples of a selection, one over the nodes. All views show what comes of it.
const lower = (a, x) => {
	let lo = 0, hi = a.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (a[mid] < x) lo = mid + 1; else hi = mid;
	}
	return lo;
};

// Which stacks the filters keep: level of the innermost frame, through a function, without one.
function stacks_kept(p, s) {
	const nodes = p.node_parent.length, ok = new Uint8Array(nodes).fill(1);
	if (s.focus < 0 && s.without < 0 && s.level < 0)
		return ok;
	const through = new Uint8Array(nodes);
	for (let i = 0; i < nodes; i++) {
		const f = p.node_frame[i], up = i ? through[p.node_parent[i]] : 0;
		through[i] = up | (f === s.focus ? 1 : 0) | (f === s.without ? 2 : 0);
		ok[i] = (s.focus < 0 || through[i] & 1) && !(through[i] & 2) && (s.level < 0 || p.node_level[i] === s.level) ? 1 : 0;
	}
	return ok;
}

const in_cgroup = (path, of) => path === of || path.startsWith(of.endsWith('/') ? of : of + '/');

function count(p, s) {
	const nodes = p.node_parent.length, self = new Float64Array(nodes), total = new Float64Array(nodes);
	const of_thread = new Float64Array(p.th.length), nr_thread = new Float64Array(p.th.length);
	const lo = s.is_whole ? 0 : lower(p.time, s.from), hi = s.is_whole ? p.n : lower(p.time, s.to + 1);
	const threads = s.threads || new Uint8Array(p.th.length).fill(1), stacks = stacks_kept(p, s);
	const groups = Uint8Array.from(p.cgroups, (c) => s.cgroup < 0 || in_cgroup(c, p.cgroups[s.cgroup]) ? 1 : 0);
	const {thread, cgroup, event, stack} = p, weight = s.by_time ? p.weight_time : p.weight, many_of = p.nr;
	let nr = 0;
	for (let i = lo; i < hi; i++)
		if (threads[thread[i]] && groups[cgroup[i]] !== 0 && event[i] === s.event && stacks[stack[i]]) {
			self[stack[i]] += weight[i];
			of_thread[thread[i]] += weight[i];
			nr_thread[thread[i]] += many_of[i];
			nr += many_of[i];
		}
	for (let i = nodes - 1; i > 0; i--) {
		total[i] += self[i];
		total[p.node_parent[i]] += total[i];
	}
	total[0] += self[0];
	const frames = p.frame_name.length, fself = new Float64Array(frames), ftotal = new Float64Array(frames);
	for (let i = 1; i < nodes; i++)
		if (total[i]) {
			fself[p.node_frame[i]] += self[i];
			if (p.outermost[i])
				ftotal[p.node_frame[i]] += total[i];
		}
	return {self, total, fself, ftotal, of_thread, nr_thread, nr, all: total[0]};
}

// How often each thread was switched to, and how long it ran and waited, in the selected time.
function count_intervals(p, s) {
	const nr = p.th.length, switches = new Float64Array(nr), ran = new Float64Array(nr), waited = new Float64Array(nr);
	for (let i = lower(p.iv_to, s.from); i < p.iv_to.length; i++) {
		const from = p.iv_to[i] - p.iv_length[i], time = Math.min(p.iv_to[i], s.to) - Math.max(from, s.from), t = p.iv_lane[i];
		if (time < 0) continue;
		if (p.iv_kind[i] === RUNNING) {
			ran[t] += time;
			if (from >= s.from) switches[t]++;
		} else if (p.iv_kind[i] === RUNNABLE) waited[t] += time;
	}
	return {switches, ran, waited};
}

// --- search: on the data, so that what is too narrow to draw counts, too ---
function matcher(text) {
	if (text.length > 1 && text.startsWith('/')) {
		const body = text.endsWith('/') && text.length > 2 ? text.slice(1, -1) : text.slice(1);
		const re = new RegExp(body, /[A-Z]/.test(body) ? '' : 'i');
		return (p, f) => re.test(p.name[f]) || re.test(p.file[f]);
	}
	if (/[A-Z]/.test(text))
		return (p, f) => p.name[f].includes(text) || p.file[f].includes(text);
	return (p, f) => p.low[f].includes(text);
}

function search(p, c, text) {
	const match = matcher(text), hits = new Uint8Array(p.name.length), start = performance.now();
	let functions = 0, weight = 0;
	for (let f = 1; f < hits.length; f++) {
		hits[f] = match(p, f) ? 1 : 0;
		if (hits[f] && c.ftotal[f]) functions++;
		if (!(f & 63) && performance.now() - start > 50)
			throw new Error('the search is too slow');
	}
	const through = new Uint8Array(p.node_parent.length);
	for (let i = 1; i < through.length; i++) {
		through[i] = through[p.node_parent[i]] | hits[p.node_frame[i]];
		if (through[i]) weight += c.self[i];
	}
	return {hits, functions, weight};
}

// --- trees to draw: {name, value, frame, node, children} ---
const leaf = (p, f, node, value) => ({name: p.name[f], value, frame: f, node, children: []});

// What can be seen of the whole, or of one node with its callers above each other.
function visible_tree(p, c, width, zoom) {
	const least = c.total[zoom] / width, root = leaf(p, 0, 0, c.total[zoom]), path = [];
	for (let i = zoom; i; i = p.node_parent[i])
		path.unshift(i);
	let top = root;
	for (const i of path) {
		const d = leaf(p, p.node_frame[i], i, c.total[zoom]);
		top.children.push(d);
		top = d;
	}
	const todo = [[zoom, top]];
	while (todo.length) {
		const [i, d] = todo.pop();
		for (let k = p.first[i]; k < p.first[i + 1]; k++) {
			const kid = p.kids[k];
			if (c.total[kid] && c.total[kid] >= least) {
				const e = leaf(p, p.node_frame[kid], kid, c.total[kid]);
				d.children.push(e);
				todo.push([kid, e]);
			}
		}
	}
	return root;
}

function prune(d, least) {
	d.children = [...d.children.values()].filter((k) => k.value >= least);
	for (const k of d.children)
		prune(k, least);
	return d;
}

const merged_kid = (p, d, f, value) => {
	let k = d.children.get(f);
	if (!k) d.children.set(f, k = {...leaf(p, f, -1, 0), children: new Map()});
	k.value += value;
	return k;
};

// All that a function calls, and all that calls it, from wherever.
function callees(p, c, frame, width) {
	const root = {...leaf(p, frame, -1, c.ftotal[frame]), children: new Map()}, at = new Map();
	for (let i = 1; i < p.node_parent.length; i++) {
		if (!c.total[i]) continue;
		const up = at.get(p.node_parent[i]);
		if (up) at.set(i, merged_kid(p, up, p.node_frame[i], c.total[i]));
		else if (p.node_frame[i] === frame && p.outermost[i]) at.set(i, root);
	}
	return prune(root, root.value / width);
}

function callers(p, c, frame, width) {
	const root = {...leaf(p, frame, -1, c.ftotal[frame]), children: new Map()};
	for (let i = 1; i < p.node_parent.length; i++)
		if (p.node_frame[i] === frame && p.outermost[i] && c.total[i])
			for (let d = root, a = p.node_parent[i]; a; a = p.node_parent[a])
				d = merged_kid(p, d, p.node_frame[a], c.total[i]);
	return prune(root, root.value / width);
}
