// A stage played for one proxy: scripted upstreams before it, operator and MCP client behind it.
// All that a runner for another proxy would replace is here.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const FLAG = 'include_disabled', DISCOVERY = 'retrieve_tools';
export const [serverOf, toolOf] = [0, 1].map((part) => (key) => key.split(':')[part]);

/** Looks every 20 ms; the last observation, even if it does not hold. */
export async function until(look, holds = Boolean, patience = 10_000) {
  for (const end = Date.now() + patience; ; await sleep(20)) {
    const seen = await look();
    if (holds(seen) || Date.now() >= end) return seen;
  }
}

/** A scripted MCP server that counts the calls of each tool. */
async function upstream(tools, size) {
  const calls = {}, content = [{ type: 'text', text: 'ok' }];
  const serverInfo = { name: 'upstream', version: '1' };
  const listed = ({ name, description, annotations, input_schema: inputSchema }) => (
    { name, description, annotations, inputSchema: inputSchema ?? { type: 'object' } });
  const answers = {
    initialize: ({ protocolVersion }) => (
      { protocolVersion, capabilities: { tools: {} }, serverInfo }),
    'tools/list': ({ cursor = '0' }) => {
      const start = Number(cursor), end = start + (size || tools.size);
      const page = [...tools.values()].slice(start, end).map(listed);
      return { tools: page, nextCursor: end < tools.size ? String(end) : undefined };
    },
    'tools/call': ({ name }) => {
      calls[name] = (calls[name] ?? 0) + 1;
      return { content };
    },
  };
  const http = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id, method, params = {} } = request.method === 'POST' ? JSON.parse(body) : {};
    if (id === undefined) return response.writeHead(method ? 202 : 405).end();
    const told = answers[method] ? { result: answers[method](params) }
      : { error: { code: -32601, message: 'Method not found' } };
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...told }));
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const close = () => http.close().closeAllConnections();
  return { tools, calls, close, url: `http://127.0.0.1:${http.address().port}/mcp` };
}

/** Starts the upstreams and the proxy; everything ends with `stop`, at the latest with Node. */
export async function start(stage, command) {
  const ups = {}, locks = {}; // locks: server:tool to the kinds of lock that lie on it
  for (const { name, tools, page_size: size, deny = [], allow } of stage.servers) {
    ups[name] = await upstream(new Map(tools.map((tool) => [tool.name, tool])), size);
    const denied = (tool) => (allow ? !allow.includes(tool) : deny.includes(tool));
    for (const { name: tool } of tools) {
      locks[`${name}:${tool}`] = new Set(denied(tool) ? ['config'] : []);
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'run-case-')), file = join(folder, 'config.json');
  const entry = ({ name, trusted = true, allow }) => {
    const keys = Object.keys(locks).filter((key) => serverOf(key) === name);
    const under = (kind) => keys.filter((key) => locks[key].has(kind)).map(toolOf);
    const denied = under('config');
    const left = allow?.filter((tool) => !denied.includes(tool));
    return { name, url: ups[name].url, protocol: 'streamable-http', skip_quarantine: trusted,
      enabled: !under('server').length, quarantined: under('quarantine').length > 0,
      ...(allow ? { enabled_tools: left } : { disabled_tools: denied }) };
  };
  const write = () => { // always the whole file, from our own state, in one move
    const mcpServers = stage.servers.map(entry);
    writeFileSync(`${file}.new`, JSON.stringify({ api_key: 'key', mcpServers }));
    renameSync(`${file}.new`, file);
  };
  write();
  const place = ['--config', file, '--data-dir', folder, '--listen', '127.0.0.1:0'];
  const proxy = spawn(command[0], [...command.slice(1), 'serve', ...place],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => {
    proxy.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const output = proxy.stdout.setEncoding('utf8');
  const [line] = await Promise.race([once(output, 'data'), once(proxy, 'exit')]);
  if (typeof line !== 'string') throw new Error(`the proxy has ended with exit code ${line}`);
  const { url } = JSON.parse(line);

  async function send(path, head, body) {
    const headers = { 'content-type': 'application/json', ...head };
    const method = body ? 'POST' : 'GET';
    const answer = await fetch(new URL(path, url), { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    const event = /^data:(.*)$/m.exec(text); // plain JSON, or the one event of a stream
    const told = text && JSON.parse(event ? event[1] : text);
    return { told, session: answer.headers.get('mcp-session-id') };
  }

  async function rest(path, body) { // the operator's side
    return (await send(`/api/v1/${path}`, { 'x-api-key': 'key' }, body)).told.data;
  }

  async function open(agent) { // the headers of a session, the admin's or an agent's
    const head = { accept: 'application/json, text/event-stream' };
    if (agent) {
      const allowed = { allowed_servers: stage.agents[agent], permissions: ['read'] };
      const { token } = await rest('tokens', { name: agent, ...allowed, expires_in: '1h' });
      head.authorization = `Bearer ${token}`;
    }
    const clientInfo = { name: 'run-case', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const hello = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    head['mcp-session-id'] = (await send('/mcp', head, hello)).session;
    await send('/mcp', head, { jsonrpc: '2.0', method: 'notifications/initialized' });
    return head;
  }

  const sessions = {};
  async function ask(agent, name, given) { // one call of a tool of the proxy's own
    const head = await (sessions[agent] ??= open(agent));
    const call = { method: 'tools/call', params: { name, arguments: given } };
    const { told } = await send('/mcp', head, { jsonrpc: '2.0', id: 1, ...call });
    const text = told.error?.message ?? told.result.content.map((one) => one.text ?? '').join('\n');
    return { text, error: told.error || told.result.isError ? text : undefined };
  }

  return {
    stage,
    locks,
    tool: (key) => ups[serverOf(key)].tools.get(toolOf(key)),
    offer: (server, tool) => ups[server].tools.set(tool.name, tool), // seen when asked to look again
    async stop() {
      proxy.kill();
      await until(() => proxy.exitCode ?? proxy.signalCode, (code) => code !== null, 3_000);
      for (const { close } of Object.values(ups)) close();
    },

    /** Lays or lifts a lock of one kind, by the file or by REST. */
    async operate(kind, server, tools, on) {
      for (const tool of tools) locks[`${server}:${tool}`][on ? 'add' : 'delete'](kind);
      const path = `servers/${server}`;
      const action = { quarantine: ['unquarantine', 'quarantine'], server: ['enable', 'disable'],
        approval: ['tools/approve'] }[kind]?.[Number(on)];
      if (action) await rest(`${path}/${action}`, { tools });
      else if (kind === 'config') write();
      else for (const tool of tools) await rest(`${path}/tools/${tool}/enabled`, { enabled: !on });
    },

    /** Has the proxy look at an upstream again: each tool it knows, with its state of approval. */
    async refresh(server) {
      await rest(`servers/${server}/discover-tools`, {});
      const { tools } = await rest(`servers/${server}/tools`);
      return Object.fromEntries(tools.map((one) => [one.name, one.approval_status ?? 'approved']));
    },

    /** Makes the request of a case; its answer in the normal form of the cases. */
    async put({ do: kind, agent = '', tool: key, ...given }) {
      if (kind === 'call') {
        const { calls } = ups[serverOf(key)], before = calls[toolOf(key)] ?? 0;
        const { text } = await ask(agent, 'call_tool_read', { name: key, args_json: '{}' });
        return { text, reached: (calls[toolOf(key)] ?? 0) > before };
      }
      const { text, error } = kind === 'list'
        ? await ask(agent, 'upstream_servers', { operation: 'list' })
        : await ask(agent, DISCOVERY, given);
      const told = error ? {} : JSON.parse(text);
      const { servers, tools, disabled, remediation, notice: note } = told;
      const read = (entries) => (entries ?? []).map((one) => (
        { ...one, key: one.name.includes(':') ? one.name : `${one.server}:${one.name}` }));
      const counts = Object.fromEntries((servers ?? []).map((one) => [one.name, one.tools]));
      return { error, text, told, note, counts, remediation: remediation ?? {}, tools: read(tools),
        disabled: read(disabled), servers: servers ?? [] };
    },
  };
}
