// Runs JSON cases against a proxy with nothing but Node: .github/CASES.md has the rules.
//   node run-case.mjs FILE.json... [ID...] [--fixtures DIR] [--texts TEXTS.json] -- COMMAND...
// A file has one case or those of an area; with ids, only the cases that they name are run.
// COMMAND is the proxy; `serve --config F --data-dir D --listen 127.0.0.1:0` is added to it.
// TEXTS.json has its own texts, by the status whose remedy they give: {"disabled_by_user": ["..."]}.
// One line an expectation: ok, FAIL, skip (not judged here) or OPEN (it could not be observed).
// Exit 0: all are ok or skip; 1: some are not; 2: the run itself went wrong.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { casesOf } from './cases.mjs';
import { BY_USERS, OPEN, isOf, mask } from './texts.mjs';
import { DISCOVERY, FLAG, serverOf, start, toolOf, until } from './world.mjs';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/discovery');
const SAMPLE = 11; // of each server and step, so many tools are proven, and those that cases name
const CAP = 10; // locked entries in one answer
const SETTLE_MS = 1_000; // how long an expectation may take to come true
const REASONS = ['disabled_by_config', 'disabled_by_user', 'pending_approval', 'server_disabled',
  'disabled_unknown', 'server_quarantined', 'callable'];
const BY_APPROVAL = ['pending_approval', 'server_quarantined'];
const LOCKS = { disabled_by_config: 'config', disabled_by_user: 'user', pending_approval: 'approval' };
const NUMBERS = ('zero one two three four five six seven eight nine ten eleven twelve thirteen '
  + 'fourteen fifteen sixteen seventeen eighteen nineteen twenty').split(' ');

const sorted = (values) => [...new Set(values)].sort();
const same = (some, others) => isDeepStrictEqual(sorted(some), sorted(others));
const keysOf = (entries) => entries.map((one) => one.key);
const statusesOf = (entries) => entries.map((one) => one.status);
const within = ({ equals, min = equals ?? 0, max = equals ?? Infinity }, n) => min <= n && n <= max;
const kindOf = (value) => {
  if (value === undefined) return 'absent';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
};
const numbersIn = (text) => (text.toLowerCase().match(/\w+/g) ?? [])
  .map((word) => (/^\d+$/.test(word) ? Number(word) : NUMBERS.indexOf(word)))
  .filter((number) => number >= 0);
const namedIn = ({ when, then: { tools = {}, disabled = {}, withheld = [], described = [] } }) => (
  [Object.values(tools), Object.keys(disabled), withheld, described, when.tool ?? []].flat(2));

/** The refusals, names masked, of some tools with only this status's lock. */
async function refusals({ locks, put }, status) {
  const keys = Object.keys(locks).filter((key) => same(locks[key], [LOCKS[status]])).slice(0, 3);
  return Promise.all(keys.map(async (tool) => mask((await put({ do: 'call', tool })).text, tool)));
}

/** Lays the stage; each lock and unlock is proven by calls, or this throws. */
async function arm(world, cases) {
  const { stage, locks } = world, { servers, steps = [] } = stage, named = cases.flatMap(namedIn);
  const sample = new Set(named);
  for (const { name, server = name, tools = [] } of [...servers, ...steps]) {
    for (const tool of tools.slice(0, SAMPLE)) sample.add(`${server}:${tool.name ?? tool}`);
  }
  const shown = {}, refused = new Set(), fresh = new Set();
  const open = (key) => !locks[key].size;
  const on = (server) => Object.keys(locks).filter((key) => serverOf(key) === server);
  const find = (query, more) => world.put({ do: 'discover', query, ...more });

  async function show(query) { // what a query finds, and the texts shown for it
    const { tools } = await find(query, { limit: 100 });
    for (const { key, description } of tools) (shown[query] ??= {})[key] = description;
    return keysOf(tools);
  }

  async function prove(keys, arrives) { // by the upstreams' own counters, never by the feature
    for (const key of keys.filter((one) => sample.has(one))) {
      const call = () => world.put({ do: 'call', tool: key });
      const { reached } = await until(call, (seen) => seen.reached === arrives);
      if (reached !== arrives) {
        throw new Error(`${key}: ${arrives ? 'no call arrives' : 'the lock has no effect'}`);
      }
      const look = () => show(world.tool(key).word);
      if (!arrives) refused.add(key);
      else if (named.includes(key)) await until(look, (seen) => seen.includes(key));
    }
    for (const { when } of arrives ? cases : []) if (when.query) await show(when.query);
  }

  async function take(step) {
    const { ask, call, restart, agent, limit } = step;
    if (restart) throw new Error('this runner cannot start a proxy again');
    if (ask !== undefined) return find(ask, { agent, limit, [FLAG]: step[FLAG] });
    if (call) return world.put({ do: 'call', tool: `${step.server}:${call}`, agent });
    return lay(step);
  }

  async function lay({ lock, unlock, add, change, refresh, server = refresh, tools, ...texts }) {
    const { trusted = true } = servers.find(({ name }) => name === server);
    if (add || change) { // the proxy sees it only after the refresh
      const tool = add ?? { ...world.tool(`${server}:${change}`), ...texts };
      const key = `${server}:${tool.name}`;
      world.offer(server, tool);
      locks[key] = new Set([...locks[key] ?? [], ...trusted ? [] : ['approval']]);
      fresh.add(key);
      sample.add(key);
    } else if (refresh) { // repeated, since a pass may do nothing while another one runs
      const ripe = on(server).filter((key) => fresh.delete(key));
      const states = trusted ? ['approved'] : ['pending', 'changed'];
      await until(() => world.refresh(server), (seen) => (
        ripe.every((key) => states.includes(seen[toolOf(key)]))));
      await prove(ripe.filter((key) => !open(key)), false);
    } else {
      const keys = on(server).filter((key) => !tools || tools.includes(toolOf(key)));
      const were = keys.filter(open);
      await world.operate(lock ?? unlock, server, keys.map(toolOf), Boolean(lock));
      await (lock ? prove(were, false) : prove(keys.filter(open), true));
    }
  }

  await prove(Object.keys(locks).filter(open), true);
  for (const { name: server, deny: tools } of servers.filter((one) => one.deny)) {
    await take({ unlock: 'config', server, tools }); // denied from the start: seen open once
    await take({ lock: 'config', server, tools });
  }
  for (const step of steps) await take(step);
  await prove(named.filter((key) => locks[key] && !open(key)), false);

  const alive = {}; // what was seen once may be expected to be absent elsewhere
  alive.counts = Object.values((await world.put({ do: 'list' })).counts).some(Boolean);
  for (const key of [...refused].slice(0, 6)) {
    alive.flag ||= (await find(toolOf(key), { [FLAG]: true })).disabled.length > 0;
    const { note, tools } = await find(world.tool(key).word);
    alive.note ||= Boolean(note);
    alive.due ||= !tools.length;
  }
  return { ...world, shown, alive };
}

const dueIn = ({ disabled = {} }) => (
  Object.keys(disabled).filter((key) => !disabled[key].includes('absent')));
const othersIn = ({ disabled = {} }, entries) => entries.filter(({ key }) => !(key in disabled));

/** Why nothing can be concluded from a case, if so. */
function blind({ locks, shown, alive }, { when, then }) {
  const missing = namedIn({ when, then }).find((key) => !locks[key]);
  if (missing) return `${missing} is not on the stage`;
  const unseen = [...dueIn(then), ...then.tools?.has ?? []]
    .find((key) => when.query !== toolOf(key) && !(key in (shown[when.query] ?? {})));
  if (unseen) return `${unseen} was not found by the query while it was callable`;
  if (then.note === 'absent' && !alive.note) return 'no note was seen on this stage';
  if (then.counts && !alive.counts) return 'no counts were seen on this stage';
  const silent = when.do === 'discover' && !(when[FLAG] && !then.disabled_count);
  return silent && !alive.flag ? 'the flag revealed nothing on this stage' : null;
}

// For each member of `then`: [the path below it, whether it holds (or OPEN; null: not judged), seen].
const JUDGES = {
  tools: ({ tools }, wanted) => Object.entries(wanted).flatMap(([member, keys]) => {
    const seen = keysOf(tools);
    if (member === 'only') return [['.only', same(seen, keys), seen]];
    return keys.map((key) => [`.${member}.${key}`, seen.includes(key) === (member === 'has'), seen]);
  }),
  disabled: ({ disabled }, wanted) => Object.entries(wanted).map(([key, allowed]) => {
    const [seen = 'absent', ...more] = statusesOf(disabled.filter((one) => one.key === key));
    return [`.${key}`, allowed.includes(seen) && !more.length, [seen, ...more]];
  }),
  disabled_only: ({ disabled }, _, { then }) => {
    const seen = othersIn(then, disabled).filter((one) => !BY_APPROVAL.includes(one.status));
    return [['', !seen.length, keysOf(seen)]];
  },
  disabled_count: ({ disabled: { length } }, wanted) => [['', within(wanted, length), length]],
  withheld: ({ disabled, text }, wanted, _, { tool, shown }) => (
    disabled.filter(({ key }) => wanted.includes(key)).map((entry) => {
      const { word, canaries = [] } = tool(entry.key), own = shown[word]?.[entry.key];
      const approved = entry.status === 'pending_approval' && entry.description === own;
      const schema = Object.keys(entry).some((name) => /schema/i.test(name) && entry[name]);
      const leaks = canaries.filter((canary) => text.includes(canary));
      const bare = !schema && !leaks.length && (approved || !entry.description);
      return [`.${entry.key}`, bare, { ...entry, leaks }];
    })),
  described: ({ disabled }, wanted, _, { tool, shown }) => wanted.map((key) => {
    const told = disabled.find((one) => one.key === key)?.description;
    return [`.${key}`, Boolean(told) && told === shown[tool(key).word]?.[key], told];
  }),
  remediation_keys: ({ disabled, remediation }, wanted) => {
    const seen = Object.keys(remediation);
    return [['', same(seen, wanted === 'as statuses' ? statusesOf(disabled) : wanted), seen]];
  },
  as_without_flag: ({ tools, text, usual }, _, { when }) => {
    const [seen, wanted] = when[FLAG] ? [keysOf(tools), keysOf(usual.tools)] : [text, usual.text];
    return [['', isDeepStrictEqual(seen, wanted), seen]];
  },
  remediation_class: ({ remediation }, wanted) => (
    wanted.filter((status) => status in remediation).map((status) => {
      const text = remediation[status]; // another class's text is wrong in any language
      const shared = BY_USERS.some((one) => one !== status && remediation[one] === text);
      return [`.${status}`, !(status === 'disabled_by_config' && shared) && isOf([status], text, known), text];
    })),
  note: ({ note, tools, disabled }, wanted) => {
    const told = () => Boolean(note?.includes(FLAG) && numbersIn(note).length && !disabled.length);
    const due = () => (tools.length ? null : told()); // some searches find something for any query
    return [['', { due, absent: () => !note, any: () => null }[wanted](), note]];
  },
  note_count: ({ note, tools, unasked, revealed }, { equals, ...bounds }, { when }, { shown, locks }) => {
    const { min = equals ?? 0, max = equals ?? Infinity } = bounds;
    const found = Object.keys(shown[when.query] ?? {}).filter((key) => locks[key]?.size).length;
    const fits = (n) => Math.min(min, revealed) <= n && n <= Math.max(max, found) + unasked;
    return [['', tools.length ? null : numbersIn(note ?? '').some(fits), note]];
  },
  counts: ({ counts }, wanted) => Object.entries(wanted).map(([server, block]) => {
    const seen = counts[server];
    const fits = (reason) => (reason in block
      ? [block[reason]].flat().includes(seen?.[reason] ?? 0) : seen?.[reason] === undefined);
    return [`.${server}`, server in counts && (block ? REASONS.every(fits) : seen === undefined), seen];
  }),
  members: ({ told, tools, disabled, servers }, wanted) => (
    Object.entries(wanted).flatMap(([place, kinds]) => {
      const there = { answer: [told], tools, disabled, servers }[place];
      if (!there.length) return [[`.${place}`, false, 'nothing']];
      return there.flatMap((entry) => Object.entries(kinds).map(([member, kind]) => {
        const seen = kindOf(entry[member]), whole = kind === 'number' && seen === 'integer';
        return [`.${place}.${member}`, whole || seen === kind, entry[member]];
      }));
    })),
  rejection: ({ text, reached, ofUsers, own }, wanted, { when: { tool } }, { locks }) => {
    const points = text.includes(FLAG) || text.includes(DISCOVERY), plain = mask(text, tool);
    const behind = [...locks[tool] ?? []].some((kind) => !['config', 'user'].includes(kind));
    const lawful = (status) => REASONS.filter((one) => ( // behind another lock, that may be told
      one === status || (behind && !BY_USERS.includes(one))));
    const judges = {
      reaches_upstream: (value) => reached === value,
      points_to_flag: (value) => points === value,
      class: (status) => (behind || !ofUsers.includes(plain)) && isOf(lawful(status), text, known, tool),
      not_class: () => (own.length ? !own.includes(plain) : OPEN),
    };
    return Object.entries(wanted).map(([member, value]) => (
      [`.${member}`, reached && member !== 'reaches_upstream' ? null : judges[member](value), text]));
  },
};

/** How many locked tools this target lists at most, none if the flag reveals nothing. */
async function fullest({ stage, put }, { when: { query } }) {
  const groups = stage.servers.flatMap(({ tools }) => tools.flatMap((tool) => tool.groups ?? []));
  let most = NaN; // unequal to any number of entries
  for (const word of new Set([query, ...groups])) {
    const { disabled = [] } = await put({ do: 'discover', query: word, [FLAG]: true, limit: 100 });
    if (disabled.length) most = Math.max(most || 0, disabled.length);
  }
  return most;
}

/** The lines of one case: [word, path, what was seen]. */
async function judge(world, one) {
  if (one.then.note === 'absent' && world.alive?.due === false) {
    return [['skip', 'given', 'each answer lists a callable tool, so that no note is due']];
  }
  const reason = world.reason ?? blind(world, one);
  if (reason) return [['OPEN', 'given', reason]];
  const { when, then } = one, { limit = 1 } = when;
  const usable = Number.isInteger(limit) && limit >= 1 && limit <= 100;
  const look = async () => {
    const answer = await world.put(when), { disabled = [] } = answer, listed = keysOf(disabled);
    if (answer.error) return [[usable ? 'FAIL' : 'ok', 'when', answer.error]]; // odd: may be refused
    const missing = dueIn(then).some((key) => !listed.includes(key));
    const withheld = (entries) => othersIn(then, entries).filter((e) => BY_APPROVAL.includes(e.status));
    if (missing && withheld(disabled).length && disabled.length >= CAP) {
      return [['skip', 'then', 'the locked section is full of withheld tools not asked for']];
    }
    const { interpretations = [] } = one;
    if (missing && interpretations.includes('cap-fills') && disabled.length === await fullest(world, one)) {
      return [['skip', 'then', `this target never lists more than ${disabled.length} locked tools`]];
    }
    if (then.note_count) {
      const sections = [];
      for (const limit of [when.limit, 100]) {
        sections.push((await world.put({ ...when, [FLAG]: true, limit })).disabled);
      }
      const counts = sections.map(({ length }) => length); // the note may tell these instead
      answer.revealed = interpretations.includes('note-count') ? Math.min(...counts) : Infinity;
      const held = Object.values(world.locks).filter((on) => on.has('approval') || on.has('quarantine'));
      // listed whatever the query, and so counted, also where the section has no room for them
      answer.unasked = sections[1].length < CAP ? withheld(sections[1]).length : held.length;
    }
    if (then.rejection) {
      answer.ofUsers = (await Promise.all(BY_USERS.map((one) => refusals(world, one)))).flat();
      answer.own = await refusals(world, then.rejection.not_class);
    }
    if (then.as_without_flag) answer.usual = await world.put({ ...when, [FLAG]: undefined });
    return Object.entries(then).flatMap(([member, wanted]) => (
      JUDGES[member](answer, wanted, one, world).map(([path, holds, seen]) => {
        const word = holds === OPEN ? OPEN : holds === null ? 'skip' : holds ? 'ok' : 'FAIL';
        return [word, `then.${member}${path}`, JSON.stringify(seen)];
      })));
  };
  const patience = when.do === 'call' ? 0 : SETTLE_MS; // a call that arrived counts at once
  return until(look, (lines) => lines.every(([word]) => word !== 'FAIL'), patience);
}

for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => process.exit(2));
process.once('uncaughtException', ({ message }) => { console.error(message); process.exit(2); });
const load = (path) => JSON.parse(readFileSync(path, 'utf8'));
const given = process.argv.slice(2), dash = given.indexOf('--');
const usage = 'run-case.mjs FILE.json... [ID...] [--fixtures DIR] [--texts TEXTS.json] -- COMMAND...';
if (dash < 1) throw new Error(`usage: ${usage}`);
const { values: { fixtures, texts: own }, positionals } = parseArgs({ args: given.slice(0, dash),
  options: { fixtures: { type: 'string', default: FIXTURES }, texts: { type: 'string' } },
  allowPositionals: true });
const convicting = load(join(fixtures, 'remediation', 'convicting.json'));
const known = { texts: own ? load(own) : {}, convicting };
const ids = positionals.filter((word) => !word.endsWith('.json'));
const cases = positionals.filter((word) => word.endsWith('.json')).flatMap((path) => casesOf(load(path)))
  .filter((one) => !ids.length || ids.includes(one.id));
const strange = ids.filter((id) => !cases.some((one) => one.id === id));
if (strange.length) throw new Error(`no such case in these files: ${strange.join(', ')}`);
for (const name of sorted(cases.map((one) => one.given.stage))) {
  const mine = cases.filter((one) => one.given.stage === name);
  const world = await start(load(join(fixtures, 'stages', `${name}.json`)), given.slice(dash + 1));
  const armed = await arm(world, mine).catch((error) => ({ reason: error.message }));
  for (const one of mine) {
    for (const [word, ...told] of await judge(armed, one)) {
      console.log(word.padEnd(4), one.id, ...told);
      if (word === 'FAIL' || word === 'OPEN') process.exitCode = 1;
    }
  }
  await world.stop();
}
