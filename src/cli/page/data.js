// The recording: unpacked, checked once, and what every view needs made of it.
const $ = (id) => document.getElementById(id);
const el = (tag, props, ...children) => {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(props || {})) {
		if (k === 'label') e.setAttribute('aria-label', v);
		else if (k === 'role') e.setAttribute('role', v);
		else e[k] = v;
	}
	e.append(...children);
	return e;
};

const LEVELS = [
	{name: 'unknown', css: 'unknown', letter: '!', mark: ''}, {name: 'user', css: 'user', letter: '.', mark: ''}, {name: 'kernel', css: 'kernel', letter: 'k', mark: ' [k]'},
	{name: 'guest user', css: 'gu', letter: 'u', mark: ' [gu]'}, {name: 'guest kernel', css: 'gk', letter: 'g', mark: ' [gk]'}, {name: 'hypervisor', css: 'hyp', letter: 'H', mark: ' [h]'}];
const RUNNING = 0, RUNNABLE = 1, SLEEPING = 2;
const RECORDS = ['lost', 'name', 'exit', 'throttled', 'throttled', 'trace', 'trace lost'];
const UNKNOWN = 0xffffffff;

// Characters that would let a name pose as another are shown by number.
const clean = (s) => s.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
	(c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
const cut = (s, most) => s.length > most ? s.slice(0, most - 1) + '\u2026' : s;

// The bytes of the blocks of a name, unpacked.
async function unpack_bytes(block) {
	const parts = [];
	for (let i = 0, e; (e = $(block + '-' + i)); i++) {
		const text = e.textContent;
		e.textContent = '';
		parts.push(Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
	}
	if (typeof DecompressionStream === 'undefined')
		throw new Error('this browser is too old: it takes Chromium 80, Firefox 113, Safari 16.4 or newer');
	return new Response(new Blob(parts).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}

const unpack_json = async (block) => JSON.parse(new TextDecoder().decode(await unpack_bytes(block)));

async function unpack(block) {
	const buf = await unpack_bytes(block), at = new DataView(buf);
	if (buf.byteLength < 12 || at.getUint32(0) !== 0x434c4557 || at.getUint32(4, true) !== 2)
		throw new Error('it is not data of this version');
	const size = at.getUint32(8, true), p = JSON.parse(new TextDecoder().decode(new Uint8Array(buf, 12, size)));
	for (const [name, [bytes, from, nr]] of Object.entries(p.columns))
		p[name] = column(buf, bytes, 12 + size + from, nr);
	return p;
}

// Integers stand as planes: the lowest byte of each, then the next of each. Other numbers stand as they are.
function column(buf, bytes, from, nr) {
	if (bytes === 8) return new Float64Array(buf, from, nr);
	if (bytes === 1) return new Uint8Array(buf, from, nr);
	if (bytes !== 2 && bytes !== 3 && bytes !== 4) throw new Error('a column is of another kind');
	const out = new (bytes === 2 ? Uint16Array : Uint32Array)(nr);
	for (let k = 0; k < bytes; k++) {
		const plane = new Uint8Array(buf, from + k * nr, nr), shift = 8 * k;
		for (let i = 0; i < nr; i++) out[i] |= plane[i] << shift;
	}
	return out;
}

// What no writer of ours makes must not be counted as if it were true.
function check(p) {
	const n = p.dt.length, nodes = p.node_parent.length, frames = p.frame_name.length;
	const need = (ok, what) => { if (!ok) throw new Error(what); };
	const below = (a, most, what) => { for (let i = 0; i < a.length; i++) if (a[i] >= most) throw new Error(what); };
	for (const c of ['thread', 'cpu', 'event', 'cgroup', 'weight', 'nr', 'stack'])
		need(!p[c] || p[c].length === n, c + ' has another length');
	need(p.node_frame.length === nodes && p.frame_dso.length === frames && p.frame_kind.length === frames && p.frame_file.length === frames && p.frame_line.length === frames, 'tables differ in length');
	for (let i = 1; i < nodes; i++) { // it is stored as how far above the caller stands
		need(p.node_parent[i] > 0 && p.node_parent[i] <= i, 'a caller stands below its callee');
		p.node_parent[i] = i - p.node_parent[i];
	}
	below(p.node_frame, frames, 'a frame is missing');
	below(p.frame_name, p.strings.length, 'a name is missing');
	below(p.frame_dso, p.strings.length, 'a file is missing');
	below(p.frame_file, p.strings.length, 'a source file is missing');
	for (const c of ['pair_name', 'pair_dso']) {
		need(!p[c] || p[c].length === frames, 'tables differ in length');
		if (p[c]) below(p[c], p.strings.length, 'a name to compare by is missing');
	}
	const nr_iv = p.iv_kind.length;
	for (const c of ['iv_gap', 'iv_length', 'iv_lane']) need(p[c].length === nr_iv, 'intervals differ in length');
	below(p.iv_lane, p.threads.length, 'the thread of an interval is missing');
	below(p.iv_kind, 3, 'an interval of another kind');
	const sorts = [['level_', ['length', 'lane', 'cpu', 'kind']], ['call_', ['length', 'lane', 'node']]];
	for (const [sort, parts] of sorts)
		for (const c of parts) need((p[sort + c] || []).length === (p[sort + 'gap'] || []).length, 'intervals of trace differ in length');
	for (const sort of ['level_', 'call_']) below(p[sort + 'lane'] || [], p.threads.length, 'the thread of an interval is missing');
	below(p.level_kind || [], LEVELS.length, 'a level that is none');
	below(p.call_node || [], nodes, 'a call of nothing');
	below(p.stack, p.stack_node.length, 'a stack is missing');
	below(p.stack_node, nodes, 'a stack ends nowhere');
	if (p.thread) below(p.thread, p.threads.length, 'a thread is missing');
	if (p.event) below(p.event, p.events.length, 'an event is missing');
	if (p.cgroup) below(p.cgroup, p.cgroups.length, 'a control group is missing');
}

function prepare(p) {
	const n = p.dt.length, nodes = p.node_parent.length, wide = p.dt_wide || [];
	p.n = n;
	p.first_event = Math.max(0, p.events.findIndex((e) => e.samples > 0));
	p.time = new Float64Array(n);
	for (let i = 0, t = 0, w = 0; i < n; i++)
		p.time[i] = t += p.dt[i] === UNKNOWN ? wide[w++] : p.dt[i];
	p.end = Math.max(p.duration, n ? p.time[n - 1] : 0, 1);
	for (const c of ['thread', 'cpu', 'event', 'cgroup', 'weight', 'nr']) {
		const v = p.same[c], type = c === 'weight' ? Float64Array : Uint32Array;
		if (!p[c]) p[c] = new type(n).fill(v);
	}
	const spans = (sort, more) => {
		const gap = p[sort + 'gap'] || [], to = new Float64Array(gap.length), part = (c) => p[sort + c] || [];
		for (let i = 0, t = 0; i < to.length; i++) to[i] = t += gap[i];
		return {to, length: part('length'), lane: part('lane'), more: part(more)};
	};
	p.spans = {running: spans('iv_', 'kind'), level: spans('level_', 'kind'), call: spans('call_', 'node')};
	p.iv_to = p.spans.running.to;
	p.stack = Uint32Array.from(p.stack, (k) => p.stack_node[k]);
	const text = p.strings.map((s) => clean(s));
	p.kind = Uint8Array.from(p.frame_kind, (k) => (k & 63) < 6 ? k & 63 : 0);
	p.file = Array.from(p.frame_dso, (i) => text[i]);
	p.name = Array.from(p.frame_name, (i, f) => cut(text[i], 400) + (p.frame_kind[f] & 64 ? ' (inlined)' : '') + LEVELS[p.kind[f]].mark);
	p.name[0] = 'all';
	p.source = Array.from(p.frame_file, (i, f) => i ? text[i] + (p.frame_line[f] ? ':' + p.frame_line[f] : '') : '');
	if (p.pair_name) {
		p.pair = Array.from(p.pair_name, (i) => text[i]);
		p.pair_file = Array.from(p.pair_dso, (i) => text[i]);
	}
	p.has_sources = p.source.some((t) => t);
	p.low = p.name.map((s, f) => (s + ' ' + p.file[f]).toLowerCase());
	p.node_level = Uint8Array.from(p.node_frame, (f) => p.kind[f]);
	// A function counts once a path: at nodes without a caller of the same name.
	p.outermost = new Uint8Array(nodes);
	p.depth = new Uint16Array(nodes);
	for (let i = 1; i < nodes; i++) {
		p.depth[i] = p.depth[p.node_parent[i]] + 1;
		let a = p.node_parent[i];
		while (a && p.node_frame[a] !== p.node_frame[i])
			a = p.node_parent[a];
		p.outermost[i] = a ? 0 : 1;
	}
	// Children of node i: kids[first[i]] .. kids[first[i + 1] - 1]
	p.first = new Uint32Array(nodes + 1);
	for (let i = 1; i < nodes; i++)
		p.first[p.node_parent[i] + 1]++;
	for (let i = 0; i < nodes; i++)
		p.first[i + 1] += p.first[i];
	const at = p.first.slice();
	p.kids = new Uint32Array(nodes);
	for (let i = 1; i < nodes; i++)
		p.kids[at[p.node_parent[i]]++] = i;
	p.th = p.threads.map(([pid, tid, ...comms]) => ({pid, tid, comms: comms.map((c) => clean(c) || '?'), comm: clean(comms[comms.length - 1] || '?')}))
		.map((t) => t.tid < 0 && /^:-?\d*$/.test(t.comm) ? {...t, comms: ['unknown thread'], comm: 'unknown thread'} : t);
	const of_tid = new Map(p.th.map((t, i) => [t.tid, i]));
	const gap = (from, to, cpu, tid, more) => ({from, to, cpu, thread: tid < 0 ? -1 : of_tid.get(tid), ...more});
	p.pauses = [...p.pauses.map(([from, to, cpu, tid, why]) => gap(from, to, cpu, tid, {why: clean(why), is_lost: why === 'buffer full' || from === to})),
		...p.losses.map(([from, to, cpu, tid, nr]) => gap(from, to, cpu, tid, {why: many(nr) + (nr === 1 ? ' record lost' : ' records lost'), is_lost: true, nr}))].sort((a, b) => a.from - b.from);
	return p;
}

// How much is in functions without a name, and what the recording's notes say of their files.
function nameless_share(p) {
	let all = 0, nameless = 0;
	for (let i = 0; i < p.n; i++) {
		const f = p.node_frame[p.stack[i]];
		all += p.nr[i];
		if (p.frame_kind[f] & 128) nameless += p.nr[i];
	}
	return all ? nameless / all : 0;
}

function nameless_reasons(p) {
	const from = p.notes.findIndex((n) => n.startsWith('Samples without a symbol')), lines = [];
	for (let i = from + 1; from >= 0 && i < p.notes.length && lines.length < 3 && /^\d/.test(p.notes[i]); i++) lines.push(clean(p.notes[i]).replace(/^(\d+)\s+/, '').trim());
	return lines.length ? 'Files: ' + lines.join('; ') + '.' : '';
}

// --- numbers as text ---
const many = (v) => Math.round(v).toLocaleString('en-US');
const samples = (v) => many(v) + (v === 1 ? ' sample' : ' samples');
const percent = (v, all) => (all ? 100 * v / all : 0).toFixed(2) + '\u2009%';
function duration(ns) {
	const a = Math.abs(ns);
	if (a >= 1e9) return (ns / 1e9).toFixed(a < 1e10 ? 3 : 2) + '\u2009s';
	if (a >= 1e6) return (ns / 1e6).toFixed(a < 1e7 ? 2 : 1) + '\u2009ms';
	if (a >= 1e3) return (ns / 1e3).toFixed(1) + '\u2009\u00b5s';
	return Math.round(ns) + '\u2009ns';
}
const amount = (v, unit) => unit === 'ns' ? duration(v) : v < 1e6 ? many(v) : v < 1e9 ? (v / 1e6).toFixed(2) + '\u2009M' : (v / 1e9).toFixed(2) + '\u2009G';
