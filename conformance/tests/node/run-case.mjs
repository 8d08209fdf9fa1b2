// Runs JSON cases against a proxy with nothing but Node; .github/CASES.md tells the rules.
//
//   node run-case.mjs CASE.json... [--fixtures DIR] -- COMMAND...
//
// COMMAND is the proxy; `serve --config F --data-dir D --listen 127.0.0.1:0` is added to it.
// One line an expectation: ok, FAIL, skip (not judged here) or OPEN (it could not be observed).
// Exit 0: all are ok or skip; 1: some are not; 2: the run itself went wrong.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual as same, parseArgs } from 'node:util';

const FLAG = 'include_disabled', DISCOVERY = 'retrieve_tools', WAIT_MS = 10_000, SETTLE_MS = 1_000, SAMPLE = 11;
const REASONS = ['disabled_by_config', 'disabled_by_user', 'pending_approval', 'server_disabled',
  'disabled_unknown', 'server_quarantined', 'callable'];
const [serverOf, toolOf] = [0, 1].map((part) => (key) => key.split(':')[part]);
const [keysOf, statusesOf] = ['key', 'status'].map((member) => (entries) => entries.map((one) => one[member]));
const sorted = (values) => [...new Set(values)].sort();
const within = ({ equals, min = equals ?? 0, max = equals ?? Infinity }, n) => min <= n && n <= max;
const load = (path) => JSON.parse(readFileSync(path, 'utf8'));

async function until(look, holds = Boolean, patience = WAIT_MS) { // the last observation, even if it does not hold
  for (const end = Date.now() + patience; ; await sleep(20)) {
    const seen = await look();
    if (holds(seen) || Date.now() >= end) return seen;
  }
}

async function upstream(tools, size) { // a scripted MCP server that counts the calls of each tool
  const calls = {}, content = [{ type: 'text', text: 'ok' }], serverInfo = { name: 'upstream', version: '1' };
  const answers = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo }),
    'tools/list': ({ cursor = '0' }) => {
      const end = Number(cursor) + (size || tools.size), page = [...tools.values()].slice(Number(cursor), end);
      return { nextCursor: end < tools.size ? String(end) : undefined, tools: page.map((tool) => (
        { name: tool.name, description: tool.description, annotations: tool.annotations,
          inputSchema: tool.input_schema ?? { type: 'object', properties: {} } })) };
    },
    'tools/call': ({ name }) => { calls[name] = (calls[name] ?? 0) + 1; return { content }; },
  };
  const http = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id, method, params = {} } = request.method === 'POST' ? JSON.parse(body) : {};
    if (id === undefined) return response.writeHead(method ? 202 : 405).end();
    const told = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: 'no' } };
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...told }));
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  return { tools, calls, url: `http://127.0.0.1:${http.address().port}/mcp` };
}

async function start(stage, command) { // upstreams, config file and proxy, and how to talk to it
  const ups = {}, locks = {}, folder = mkdtempSync(join(tmpdir(), 'run-case-')), file = join(folder, 'config.json');
  for (const { name, tools, page_size: size, deny = [], allow } of stage.servers) {
    ups[name] = await upstream(new Map(tools.map((tool) => [tool.name, tool])), size);
    for (const { name: tool } of tools) {
      locks[`${name}:${tool}`] = new Set((allow ? !allow.includes(tool) : deny.includes(tool)) ? ['config'] : []);
    }
  }
  const write = () => { // always the whole file, from our own state, in one move
    const mcpServers = stage.servers.map(({ name, trusted = true, allow }) => {
      const locked = (kind) => Object.keys(locks).filter((key) => serverOf(key) === name && locks[key].has(kind));
      const denied = locked('config').map(toolOf);
      return { name, url: ups[name].url, protocol: 'streamable-http', skip_quarantine: trusted,
        enabled: !locked('server').length, quarantined: locked('quarantine').length > 0,
        ...(allow ? { enabled_tools: allow.filter((one) => !denied.includes(one)) } : { disabled_tools: denied }) };
    });
    writeFileSync(`${file}.new`, JSON.stringify({ api_key: 'key', mcpServers }));
    renameSync(`${file}.new`, file);
  };
  write();
  const args = [...command.slice(1), 'serve', '--config', file, '--data-dir', folder, '--listen', '127.0.0.1:0'];
  const proxy = spawn(command[0], args, { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => { proxy.kill('SIGKILL'); rmSync(folder, { recursive: true, force: true }); });
  const over = () => proxy.exitCode !== null || proxy.signalCode !== null;
  let line = '';
  proxy.stdout.setEncoding('utf8').on('data', (chunk) => { line += chunk; });
  await until(() => over() || line.includes('\n'));
  if (over() || !line) throw new Error('the proxy did not tell its address');
  const { url } = JSON.parse(line);
  const send = async (path, head, body) => {
    const headers = { 'content-type': 'application/json', ...head };
    const how = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers };
    const answer = await fetch(new URL(path, url), how), text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    const event = /^data:(.*)$/m.exec(text); // plain JSON, or the one event of a stream
    return { told: text && JSON.parse(event ? event[1] : text), headers: answer.headers };
  };
  const rest = async (path, body) => (await send(`/api/v1/${path}`, { 'x-api-key': 'key' }, body)).told.data;
  const rpc = (head, method, params, id) => send('/mcp', head, { jsonrpc: '2.0', id, method, params });
  const open = async (agent) => { // the admin's session or, by a token, an agent's; its headers
    const head = { accept: 'application/json, text/event-stream' };
    const who = { name: agent, allowed_servers: stage.agents?.[agent], permissions: ['read'], expires_in: '1h' };
    if (agent) head.authorization = `Bearer ${(await rest('tokens', who)).token}`;
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'run-case', version: '1' } };
    head['mcp-session-id'] = (await rpc(head, 'initialize', hello, 0)).headers.get('mcp-session-id');
    await rpc(head, 'notifications/initialized');
    return head;
  };
  const sessions = {};
  const ask = async (agent, name, given) => { // one call of a tool of the proxy's own
    const head = await (sessions[agent] ??= open(agent));
    const { result, error } = (await rpc(head, 'tools/call', { name, arguments: given }, 1)).told;
    const text = error?.message ?? result.content.map((item) => item.text ?? '').join('\n');
    return { text, error: error || result.isError ? text : undefined };
  };
  return { stage, ups, locks, write, rest, ask, stop: () => proxy.kill() && until(over, Boolean, 3_000) };
}

async function put({ ups, ask }, { do: kind, agent = '', tool: key, ...args }) { // one request, its answer normalised
  if (kind === 'call') {
    const { calls } = ups[serverOf(key)], before = calls[toolOf(key)] ?? 0;
    const { text } = await ask(agent, 'call_tool_read', { name: key, args_json: '{}' });
    return { text, reached: (calls[toolOf(key)] ?? 0) > before };
  }
  const what = kind === 'list' ? ['upstream_servers', { operation: 'list' }] : [DISCOVERY, args];
  const { text, error } = await ask(agent, ...what), told = error ? {} : JSON.parse(text);
  const read = (entries) => (entries ?? []).map((entry) => (
    { ...entry, key: entry.name.includes(':') ? entry.name : `${entry.server}:${entry.name}` }));
  return { ...told, error, text, ...(kind === 'list' ? {} : { tools: read(told.tools), disabled: read(told.disabled) }) };
}

const namedIn = ({ when, then: { tools = {}, disabled = {}, withheld = [], described = [] } }) => (
  [Object.values(tools), Object.keys(disabled), withheld, described, when.tool ?? []].flat(2));

async function arm(world, cases) { // lays the stage; each lock and unlock is proven by calls, or this throws
  const { stage, ups, locks, write, rest } = world, shown = {}, refused = new Set(), fresh = new Set(), named = cases.flatMap(namedIn);
  const trusts = (server) => stage.servers.find(({ name }) => name === server).trusted ?? true;
  const open = (key) => !locks[key].size, query = (one) => put(world, { do: 'discover', ...one });
  const show = async (word) => {
    const { tools } = await query({ query: word, limit: 100 });
    for (const { key, description } of tools) (shown[word] ??= {})[key] = description;
    return tools.map(({ key }) => key);
  };
  const wordOf = (key) => ups[serverOf(key)].tools.get(toolOf(key)).word;
  const prove = async (keys, arrives) => {
    for (const key of keys.filter((one, n) => n < SAMPLE || named.includes(one))) {
      const { reached } = await until(() => put(world, { do: 'call', tool: key }), (seen) => seen.reached === arrives);
      if (reached !== arrives) throw new Error(`${key}: ${arrives ? 'no call arrives' : 'the lock had no effect'}`);
      if (arrives) await until(() => show(wordOf(key)), (found) => found.includes(key)); else refused.add(key);
    }
    if (arrives) for (const { when } of cases) if (when.query) await show(when.query);
  };
  const take = async ({ lock, unlock, add, change, refresh, server = refresh, tools, ...texts }) => {
    const kind = lock ?? unlock, path = `servers/${server}`, mine = Object.keys(locks).filter((key) => serverOf(key) === server);
    if (add || change) { // the target is not told before the refresh
      const tool = add ?? { ...ups[server].tools.get(change), ...texts }, key = `${server}:${tool.name}`;
      ups[server].tools.set(tool.name, tool);
      locks[key] = new Set([...locks[key] ?? [], ...trusts(server) ? [] : ['approval']]);
      return fresh.add(key);
    }
    if (refresh) {
      const ripe = mine.filter((key) => fresh.delete(key)), look = async () => { // a pass may do nothing: repeat it
        await rest(`${path}/discover-tools`, {});
        return Object.fromEntries((await rest(`${path}/tools`)).tools.map((tool) => [tool.name, tool.approval_status]));
      };
      await until(look, (seen) => ripe.every((key) => (trusts(server) ? seen[toolOf(key)] : ['pending', 'changed'].includes(seen[toolOf(key)]))));
      return prove(ripe.filter((key) => !open(key)), false);
    }
    const keys = mine.filter((key) => !tools || tools.includes(toolOf(key))), were = keys.filter(open);
    for (const key of keys) locks[key][lock ? 'add' : 'delete'](kind);
    if (kind === 'config') write();
    if (kind === 'user') for (const tool of tools) await rest(`${path}/tools/${tool}/enabled`, { enabled: !lock });
    if (kind === 'approval') await rest(`${path}/tools/approve`, { tools });
    if (kind === 'quarantine') await rest(`${path}/${lock ? 'quarantine' : 'unquarantine'}`, {});
    if (kind === 'server') await rest(`${path}/${lock ? 'disable' : 'enable'}`, {});
    return lock ? prove(were, false) : prove(keys.filter(open), true);
  };
  await prove(Object.keys(locks).filter(open), true);
  const lifted = stage.servers.flatMap(({ name: server, deny: tools }) => (
    tools ? [{ unlock: 'config', server, tools }, { lock: 'config', server, tools }] : []));
  for (const step of [...lifted, ...stage.steps ?? []]) await take(step);
  await prove(named.filter((key) => locks[key] && !open(key)), false);
  const alive = { block: (await put(world, { do: 'list' })).servers.some(({ tools }) => tools) };
  for (const key of [...refused].slice(0, 6)) {
    alive.flag ||= (await query({ query: toolOf(key), [FLAG]: true })).disabled.length > 0;
    alive.note ||= Boolean((await query({ query: wordOf(key) })).notice);
  }
  return { ...world, shown, alive };
}

function blind({ locks, shown, alive }, { when, then }) { // why nothing can be concluded, if so
  const due = [...then.tools?.has ?? [], ...Object.keys(then.disabled ?? {}).filter((key) => !then.disabled[key].includes('absent'))];
  const missing = namedIn({ when, then }).find((key) => !locks[key]);
  const unseen = due.find((key) => when.query !== toolOf(key) && !(key in (shown[when.query] ?? {})));
  if (missing) return `${missing} is not on the stage`;
  if (unseen) return `${unseen} was not found by the query while it was callable`;
  if (then.note === 'absent' && !alive.note) return 'no note was seen on this stage';
  if (then.counts && !alive.block) return 'no counts were seen on this stage';
  return when.do === 'discover' && !when[FLAG] && !alive.flag ? 'the flag revealed nothing on this stage' : null;
}

const JUDGES = { // for each member of `then`: [path below it, whether it holds (null: not judged here), what was seen]
  tools: ({ tools }, { has = [], lacks = [], only }) => [
    ...has.map((key) => [`.has.${key}`, keysOf(tools).includes(key), keysOf(tools)]),
    ...lacks.map((key) => [`.lacks.${key}`, !keysOf(tools).includes(key), keysOf(tools)]),
    ...only ? [['.only', same(sorted(keysOf(tools)), sorted(only)), keysOf(tools)]] : []],
  disabled: ({ disabled }, wanted) => Object.entries(wanted).map(([key, allowed]) => {
    const seen = statusesOf(disabled.filter((one) => one.key === key));
    return [`.${key}`, seen.length < 2 && allowed.includes(seen[0] ?? 'absent'), seen[0] ?? 'absent'];
  }),
  disabled_only: ({ disabled }, _, then) => {
    const others = disabled.filter(({ key, status }) => !(key in (then.disabled ?? {}))
      && !['pending_approval', 'server_quarantined'].includes(status));
    return [['', !others.length, keysOf(others)]];
  },
  disabled_count: ({ disabled }, wanted) => [['', within(wanted, disabled.length), disabled.length]],
  withheld: ({ disabled, text }, wanted, _, { ups, shown }) => disabled.filter(({ key }) => wanted.includes(key)).map((entry) => {
    const { word, canaries = [] } = ups[serverOf(entry.key)].tools.get(toolOf(entry.key));
    const approved = entry.status === 'pending_approval' && shown[word]?.[entry.key] === entry.description;
    const bare = !Object.keys(entry).some((name) => /schema/i.test(name)) && (approved || !entry.description);
    return [`.${entry.key}`, bare && !canaries.some((canary) => text.includes(canary)), entry];
  }),
  described: ({ disabled }, wanted, _, { ups, shown }) => wanted.map((key) => {
    const told = disabled.find((one) => one.key === key)?.description;
    return [`.${key}`, told !== undefined && told === shown[ups[serverOf(key)].tools.get(toolOf(key)).word]?.[key], told];
  }),
  remediation_keys: ({ disabled, remediation }, wanted) => {
    const seen = sorted(Object.keys(remediation ?? {}));
    return [['', same(seen, sorted(wanted === 'as statuses' ? statusesOf(disabled) : wanted)), seen]];
  },
  remediation_class: () => [['', null, 'the class of a text']],
  note: ({ notice, disabled }, wanted) => [['', wanted === 'any' || (wanted === 'absent' ? !notice
    : Boolean(notice?.includes(FLAG) && /\d/.test(notice) && !notice.includes('\n') && !disabled.length)), notice]],
  note_count: ({ notice }, wanted) => [['', (notice?.match(/\b\d+\b/g) ?? []).some((told) => within(wanted, Number(told))), notice]],
  counts: ({ servers }, wanted) => Object.entries(wanted).map(([name, block]) => {
    const { tools } = servers.find((one) => one.name === name) ?? {};
    const fits = (reason) => (reason in block ? [block[reason]].flat().includes(tools?.[reason] ?? 0) : !(reason in (tools ?? {})));
    return [`.${name}`, block === null ? tools === undefined : REASONS.every(fits), tools];
  }),
  rejection: ({ text, reached }, wanted) => Object.entries(wanted).map(([member, value]) => [`.${member}`, {
    reaches_upstream: reached === value, points_to_flag: [FLAG, DISCOVERY].some((word) => text.includes(word)) === value,
  }[member] ?? null, text]),
};

async function judge(world, one) {
  const reason = world.reason ?? blind(world, one);
  if (reason) return [['OPEN', 'given', reason]];
  return until(async () => {
    const answer = await put(world, one.when);
    if (answer.error) return [['FAIL', 'when', answer.error]];
    return Object.entries(one.then).flatMap(([member, wanted]) => JUDGES[member](answer, wanted, one.then, world)
      .map(([path, holds, seen]) => [{ true: 'ok', false: 'FAIL' }[holds] ?? 'skip', `then.${member}${path}`, JSON.stringify(seen)]));
  }, (lines) => lines.every(([word]) => word !== 'FAIL'), one.when.do === 'call' ? 0 : SETTLE_MS);
}

for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => process.exit(2));
process.once('uncaughtException', (error) => { console.error(error.message); process.exit(2); });
const given = process.argv.slice(2), dash = given.indexOf('--'), here = new URL('../../../fixtures', import.meta.url);
const { values, positionals } = parseArgs({ args: given.slice(0, dash), allowPositionals: true,
  options: { fixtures: { type: 'string', default: fileURLToPath(here) } } });
const cases = positionals.map(load);
for (const name of sorted(cases.map((one) => one.given.stage))) {
  const mine = cases.filter((one) => one.given.stage === name);
  const world = await start(load(join(values.fixtures, 'stages', `${name}.json`)), given.slice(dash + 1));
  const armed = await arm(world, mine).catch((error) => ({ reason: error.message }));
  for (const one of mine) {
    for (const [word, ...told] of await judge(armed, one)) {
      console.log(word.padEnd(4), one.id, ...told);
      if (word === 'FAIL' || word === 'OPEN') process.exitCode = 1;
    }
  }
  await world.stop();
}
process.exit();
