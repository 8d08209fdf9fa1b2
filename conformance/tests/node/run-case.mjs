// Runs JSON cases against a proxy, with nothing but Node: .github/CASES.md tells how.
//
//   node run-case.mjs CASE.json... --fixtures DIR -- COMMAND...
//
// COMMAND starts the proxy; `serve --config F --data-dir D --listen 127.0.0.1:0` is added to it.
// One line an expectation: ok, FAIL, skip (not judged here) or OPEN (it could not be observed).
// Exit 0: every line is ok or skip; 1: some are not; 2: the run itself went wrong.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual as same } from 'node:util';

const FLAG = 'include_disabled', DISCOVERY = 'retrieve_tools', KEY = 'operator-key';
const WAIT_MS = 10_000, SETTLE_MS = 1_000, SAMPLE = 11;
const STATUSES = ['disabled_by_config', 'disabled_by_user', 'pending_approval', 'server_disabled',
  'disabled_unknown', 'server_quarantined'];
const BY_APPROVAL = ['pending_approval', 'server_quarantined'];
const NUMBERS = ('zero one two three four five six seven eight nine ten eleven twelve thirteen '
  + 'fourteen fifteen sixteen seventeen eighteen nineteen twenty').split(' ');
const load = (path) => JSON.parse(readFileSync(path, 'utf8'));
const bare = (key) => key.slice(key.indexOf(':') + 1);
const numbersIn = (text) => text.toLowerCase().split(/[^a-z0-9_]+/)
  .map((word) => (/^\d+$/.test(word) ? Number(word) : NUMBERS.indexOf(word))).filter((n) => n >= 0);
const within = ({ equals, min = equals ?? 0, max = equals ?? Infinity }, n) => min <= n && n <= max;

async function until(look, holds, patience = WAIT_MS) {
  for (const end = Date.now() + patience; ; await sleep(20)) {
    const seen = await look();
    if (holds(seen) || Date.now() >= end) return seen;
  }
}

class Upstream { // a scripted MCP server with a counter for each tool
  constructor({ name, tools, page_size: size, transport = 'http' }) {
    if (transport !== 'http') throw new Error(`${name}: ${transport} is not played here`);
    Object.assign(this, { size: size || Infinity, calls: {}, tools: {} });
    for (const tool of tools) this.tools[tool.name] = tool;
    this.http = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      const { id, method, params = {} } = request.method === 'POST' ? JSON.parse(body) : {};
      if (id === undefined) return response.writeHead(method ? 202 : 405).end();
      const answer = JSON.stringify({ jsonrpc: '2.0', id, ...this.answer(method, params) });
      return response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    }).listen(0, '127.0.0.1');
  }

  answer(method, { protocolVersion, cursor, name }) {
    if (method === 'initialize') {
      const serverInfo = { name: 'upstream', version: '1' };
      return { result: { protocolVersion, capabilities: { tools: {} }, serverInfo } };
    }
    if (method === 'tools/list') {
      const start = Number(cursor ?? 0), end = start + this.size, all = Object.values(this.tools);
      const tools = all.slice(start, end).map(({ name: named, description, annotations, ...tool }) => {
        const inputSchema = tool.input_schema ?? { type: 'object', properties: {} };
        return { name: named, description, inputSchema, annotations };
      });
      return { result: { tools, nextCursor: end < all.length ? String(end) : undefined } };
    }
    if (method !== 'tools/call') return { error: { code: -32601, message: 'Method not found' } };
    this.calls[name] = (this.calls[name] ?? 0) + 1;
    return { result: { content: [{ type: 'text', text: `ok ${name}` }] } };
  }
}

class World { // the stage, laid: upstreams, config file, the proxy, and what arming has seen
  constructor(stage, cases) {
    this.folder = mkdtempSync(join(tmpdir(), 'run-case-'));
    Object.assign(this, { stage, cases, sessions: {}, agents: {}, locks: {}, tools: {}, own: {} });
    Object.assign(this, { shown: {}, alive: {}, reached: new Set(), refused: new Set() });
    this.upstreams = Object.fromEntries(stage.servers.map((one) => [one.name, new Upstream(one)]));
  }

  async start(command) {
    await Promise.all(Object.values(this.upstreams).map(({ http }) => once(http, 'listening')));
    this.servers = Object.fromEntries(this.stage.servers.map(({ name, trusted = true, ...one }) => {
      for (const tool of one.tools) this.learn(name, tool);
      return [name, { name, url: `http://127.0.0.1:${this.upstreams[name].http.address().port}/mcp`,
        protocol: 'streamable-http', enabled: true, quarantined: false, skip_quarantine: trusted,
        disabled_tools: one.deny, enabled_tools: one.allow }];
    }));
    this.write();
    const place = ['--config', join(this.folder, 'config.json'), '--data-dir', this.folder];
    const given = [...command.slice(1), 'serve', ...place, '--listen', '127.0.0.1:0'];
    this.proxy = spawn(command[0], given, { stdio: ['ignore', 'pipe', 'inherit'] });
    process.once('exit', () => this.proxy.kill('SIGKILL'));
    this.ended = once(this.proxy, 'exit').then(() => { throw new Error('the proxy has ended'); });
    this.ended.catch(() => {});
    const line = once(createInterface({ input: this.proxy.stdout }), 'line');
    this.url = JSON.parse((await Promise.race([line, this.ended]))[0]).url;
    const ready = () => fetch(new URL('/readyz', this.url)).catch(() => ({ ok: false }));
    await until(ready, ({ ok }) => ok);
    for (const [name, allowed_servers] of Object.entries(this.stage.agents ?? {})) {
      const permissions = ['read', 'write', 'destructive'];
      const made = await this.rest('tokens', { name, allowed_servers, permissions, expires_in: '1h' });
      this.agents[name] = made.data.token;
    }
  }

  async stop() {
    if (this.proxy?.exitCode === null && this.proxy.kill()) {
      const late = sleep(3_000, undefined, { ref: false }).then(() => this.proxy.kill('SIGKILL'));
      await Promise.race([this.ended.catch(() => {}), late]);
    }
    for (const { http } of Object.values(this.upstreams)) http.close().closeAllConnections();
    rmSync(this.folder, { recursive: true, force: true });
  }

  learn(server, tool, lock) {
    this.tools[`${server}:${tool.name}`] = tool;
    this.locks[`${server}:${tool.name}`] = new Set(lock ? [lock] : []);
  }

  write() { // always the whole file, from our own copy, replaced in one move
    const path = join(this.folder, 'config.json');
    const off = Object.fromEntries(['docker_isolation', 'telemetry', 'update_check', 'tokenizer']
      .map((name) => [name, { enabled: false }]));
    writeFileSync(`${path}.new`, JSON.stringify({ api_key: KEY, quarantine_enabled: true,
      tools_limit: 15, tool_response_limit: 0, ...off, mcpServers: Object.values(this.servers) }));
    renameSync(`${path}.new`, path);
  }

  async rest(path, body) { // the operator's side
    const headers = { 'x-api-key': KEY, 'content-type': 'application/json' };
    const request = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers };
    const answer = await fetch(new URL(`/api/v1/${path}`, this.url), request);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  async post(agent, message) { // the agent's side: MCP over streamable HTTP, one session an agent
    const headers = { 'content-type': 'application/json', ...this.sessions[agent],
      accept: 'application/json, text/event-stream' };
    if (agent) headers.authorization = `Bearer ${this.agents[agent]}`;
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const answer = await fetch(this.url, { method: 'POST', headers, body });
    const text = await answer.text(), session = answer.headers.get('mcp-session-id');
    if (!answer.ok) throw new Error(`${message.method}: ${answer.status} ${text}`);
    if (session) this.sessions[agent] = { 'mcp-session-id': session };
    if (!(answer.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
      return text && JSON.parse(text);
    }
    const events = text.split(/\r?\n/).filter((line) => line.startsWith('data:'));
    return events.map((line) => JSON.parse(line.slice(5))).find(({ id }) => id === message.id);
  }

  async ask(agent = '', name, args) { // one call of the proxy's own tools
    if (!this.sessions[agent]) {
      const protocolVersion = '2025-06-18', clientInfo = { name: 'run-case', version: '1' };
      const params = { protocolVersion, capabilities: {}, clientInfo };
      await this.post(agent, { id: 0, method: 'initialize', params });
      await this.post(agent, { method: 'notifications/initialized' });
    }
    const params = { name, arguments: args };
    const { result, error } = await this.post(agent, { id: 1, method: 'tools/call', params });
    const text = error?.message ?? result.content.map((item) => item.text ?? '').join('\n');
    return { text, failed: Boolean(error || result.isError), raw: JSON.stringify(result) };
  }

  async discover({ agent, do: _, ...args }) {
    const { text, failed, raw } = await this.ask(agent, DISCOVERY, args);
    if (failed) return { error: text };
    const told = JSON.parse(text);
    const read = (entries) => (entries ?? []).map((entry) => ({ ...entry,
      key: entry.name.includes(':') ? entry.name : `${entry.server}:${entry.name}` }));
    return { ...told, raw, tools: read(told.tools), disabled: read(told.disabled) };
  }

  async list({ agent } = {}) {
    const { text, failed } = await this.ask(agent, 'upstream_servers', { operation: 'list' });
    return failed ? { error: text } : JSON.parse(text);
  }

  async call({ tool: key, agent }) {
    const upstream = this.upstreams[key.split(':')[0]], before = upstream.calls[bare(key)] ?? 0;
    const { text } = await this.ask(agent, 'call_tool_read', { name: key, args_json: '{}' });
    return { text, reached: (upstream.calls[bare(key)] ?? 0) > before };
  }
