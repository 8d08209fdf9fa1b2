/**
 * A small MCP tool proxy: a second, independent implementation of the feature "agent-discoverable disabled tools",
 * written from the specification's text alone, with another surface than the one its examples suggest.
 *
 * It serves MCP over streamable HTTP on a free loopback port, aggregates upstream MCP servers (streamable HTTP and
 * stdio), and has three tools: `find_capability` (discovery, with the opt-in `include_disabled`), `survey_upstreams`
 * (the servers, with their tool counts) and `invoke` (one call tool for everything). `node proxy.mjs` reads the
 * adapter protocol on standard input and answers on standard output; standard error is the log. All state is in
 * `state.json` in the folder given at `start`; only the operator side and the first contact with an upstream write it.
 *
 * Readings chosen where the text leaves room:
 *  - One function, `statusOf`, gives a tool's only status in every surface.
 *  - What is not in the search index (quarantined servers, tools that wait for approval) is matched by its name only,
 *    and listed without description, whatever its status; if it is denied by config too, it is not listed at all.
 *  - A server that is switched off keeps the tools last seen until the proxy ends, and does not list them again.
 *  - The counts have a key for each of the six statuses, so that a quarantined server's tools are counted as such.
 *  - The note counts all locked matches, beyond the cap; who opted in never gets it.
 *  - An unreadable record locks its tool (`disabled_unknown`). The fault is transient: a restart ends it.
 */
import { spawn } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const IMPLEMENTATION = { name: "second-implementation-proxy", version: "1.0.0" };
const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26"];
const ENDPOINT = "/gateway";
const START_MS = 10_000;
const HANDSHAKE_MS = 8_000;
const CALL_MS = 120_000;
const RETRY_MS = 1_000;
const STOP_MS = 700;
const DEFAULT_LIMIT = 10;
const LOCKED_CAP = 10;

const REMEDIATION = {
  server_disabled: "The whole server is switched off. Enable the server first.",
  disabled_by_config:
    "Operator policy: the proxy's configuration denies this tool. It is not user-overridable, the user cannot lift " +
    "it from the UI; only the operator can change it, in the lists of its state.json.",
  disabled_by_user: "The user has switched this tool off. Ask the user to re-enable it in the UI.",
  pending_approval: "This tool is new or has changed, and waits for approval. Ask the user to approve it in the UI.",
  disabled_unknown: "The reason could not be determined. Check the server logs.",
  server_quarantined: "The whole server is quarantined. Ask the user to review and to release it in the UI.",
};

const log = (text) => process.stderr.write(`[proxy] ${text}\n`);

class CodedError extends Error {
  constructor(code, message, details) {
    super(message);
    Object.assign(this, { code, details });
  }
}

class RpcError extends CodedError {} // becomes a JSON-RPC error with these details as its data
class HttpError extends CodedError {} // becomes an HTTP status, with these details as more headers
class SessionLost extends Error {} // the upstream has forgotten our session; nothing was executed
class Refusal extends Error {} // what the operator side lawfully refuses
class BadArguments extends Error {} // what a built-in tool cannot use; the text is for the agent

/** The promise's value, or undefined if it takes longer than `ms`. */
const within = (ms, promise) => Promise.race([promise, delay(ms, undefined, { ref: false })]);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** What we keep of a listed tool. Its fingerprint, in whichever order members come, is what an approval is about. */
function toolOf({ name, description, inputSchema }) {
  const kept = [String(description ?? ""), inputSchema];
  const byKey = ([a], [b]) => compare(a, b);
  const ordered = (_, value) => (isObject(value) ? Object.fromEntries(Object.entries(value).sort(byKey)) : value);
  const fingerprint = createHash("sha256").update(JSON.stringify(kept, ordered)).digest("hex");
  return { name, description: kept[0], inputSchema, fingerprint };
}

/** Lines of a byte stream. (Not node:readline, which also splits at U+2028, lawful inside a JSON text.) */
async function* linesOf(stream) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop();
    for (const part of parts) yield part.replace(/\r$/, "");
  }
  if (rest) yield rest;
}

async function* serverSentMessages(stream) {
  let data = [];
  for await (const line of linesOf(stream)) {
    if (line.startsWith("data:")) data.push(line.slice(5));
    if (line !== "") continue;
    const text = data.join("\n").trim();
    data = [];
    if (text) yield* [JSON.parse(text)].flat();
  }
}

function resultOf({ error, result }) {
  if (error) throw new RpcError(error.code, error.message, error.data);
  return result;
}

/** Our answer to a request that an upstream sends us: we have no client features beyond `ping`. */
function answerToUpstream({ id, method }) {
  return method === "ping" ? { id, result: {} } : { id, error: { code: -32601, message: `no method ${method}` } };
}

// ---------------------------------------------------------------------------------------------- upstream links

/** One session with an upstream over streamable HTTP. */
class HttpLink {
  lastId = 0;

  constructor(url) { this.url = url; }

  async request(method, params, ms) {
    const id = ++this.lastId;
    const response = await this.send("POST", ms, { id, method, params });
    this.session ??= response.headers.get("mcp-session-id") ?? undefined;
    const streamed = response.headers.get("content-type")?.startsWith("text/event-stream");
    return resultOf(streamed ? await this.awaitAnswer(response.body, id) : await response.json());
  }

  async notify(method) { await this.post({ method }); }
  async post(message) { await (await this.send("POST", HANDSHAKE_MS, message)).body?.cancel(); }

  async send(method, ms, message) {
    const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
    if (this.session) headers["Mcp-Session-Id"] = this.session;
    if (this.revision) headers["MCP-Protocol-Version"] = this.revision;
    const body = message && JSON.stringify({ jsonrpc: "2.0", ...message });
    const options = { method, headers, body, redirect: "error", signal: AbortSignal.timeout(ms) };
    const response = await fetch(this.url, options);
    if (response.ok) return response;
    await response.body?.cancel();
    const isGone = response.status === 404 && this.session !== undefined;
    this.lost ||= isGone;
    throw new (isGone ? SessionLost : Error)(`the upstream answered HTTP ${response.status}`);
  }

  async awaitAnswer(stream, id) {
    for await (const message of serverSentMessages(stream)) {
      if (message.id === id && !message.method) return message;
      if (!message.method || message.id === undefined) continue;
      this.post(answerToUpstream(message)).catch((error) => log(error.message));
    }
    throw new Error("the upstream ended its stream without an answer");
  }

  async close() {
    if (this.session) await this.send("DELETE", STOP_MS).catch((error) => log(error.message));
  }
}

/** One process of an upstream that speaks newline-delimited JSON-RPC on its standard streams. */
class StdioLink {
  waiting = new Map();
  lastId = 0;

  constructor([file, ...args]) {
    this.child = spawn(file, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.ended = new Promise((resolve) => this.child.once("error", resolve).once("exit", resolve));
    this.ended.then(() => {
      this.lost = true;
      this.waiting.forEach((resolve) => resolve());
    });
    this.child.stdin.on("error", (error) => log(`upstream's standard input: ${error.message}`));
    this.read();
  }

  async read() {
    for await (const line of linesOf(this.child.stdout)) {
      try {
        this.onMessage(JSON.parse(line));
      } catch {
        log(`no message from an upstream: ${line.slice(0, 200)}`);
      }
    }
  }

  onMessage(message) {
    if (!message.method) this.waiting.get(message.id)?.(message);
    else if (message.id !== undefined) this.send(answerToUpstream(message));
  }

  async request(method, params, ms) {
    const id = ++this.lastId;
    const answer = new Promise((resolve) => this.waiting.set(id, resolve));
    this.send({ id, method, params });
    const message = await within(ms, answer);
    this.waiting.delete(id);
    if (!message) throw new Error("no answer from the upstream's process");
    return resultOf(message);
  }

  async notify(method) { this.send({ method }); }
  send(message) { this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`); }

  async close() {
    this.child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      if (await within(STOP_MS, this.ended.then(() => true))) return;
      this.child.kill(signal);
    }
    await within(STOP_MS, this.ended);
  }
}

/** An upstream: connects when it is needed, once for everybody, and again after its session or process was lost. */
class Upstream {
  constructor({ url, command }) {
    this.createLink = () => (url ? new HttpLink(url) : new StdioLink(command));
  }

  async connect() {
    if (!this.link || this.link.lost) {
      this.link = this.createLink();
      this.opening = this.handshake(this.link);
    }
    return this.opening;
  }

  async handshake(link) {
    try {
      const offer = { protocolVersion: REVISIONS[0], capabilities: {}, clientInfo: IMPLEMENTATION };
      link.revision = (await link.request("initialize", offer, HANDSHAKE_MS)).protocolVersion;
      await link.notify("notifications/initialized");
      return link;
    } catch (error) {
      link.lost = true;
      await link.close();
      throw error;
    }
  }

  async ask(method, params, ms) {
    const link = await this.connect();
    try {
      return await link.request(method, params, ms);
    } catch (error) {
      if (!(error instanceof SessionLost)) throw error;
      return (await this.connect()).request(method, params, ms);
    }
  }

  async listTools() {
    const tools = [];
    const asked = new Set();
    for (let cursor; !asked.has(cursor); ) {
      asked.add(cursor);
      const page = await this.ask("tools/list", { cursor }, HANDSHAKE_MS);
      tools.push(...page.tools);
      cursor = page.nextCursor || undefined;
    }
    return tools;
  }

  callTool(name, input) { return this.ask("tools/call", { name, arguments: input }, CALL_MS); }

  async close() {
    if (this.link) this.link.lost = true;
    await this.link?.close();
  }
}

// ---------------------------------------------------------------------------------------------- state, servers, locks

/** The state file's content before the first start. */
function initialState({ servers, agents }) {
  const token = () => randomBytes(24).toString("hex");
  return {
    adminToken: token(),
    agents: Object.entries(agents).map(([name, scope]) => ({ name, scope, token: token() })),
    servers: servers.map((server) => ({ ...server, enabled: true, quarantined: false, records: [] })),
  };
}

function saveState(dir, state) {
  const path = join(dir, "state.json");
  writeFileSync(`${path}.new`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** One aggregated server. A tool's record holds the approved fingerprint, and the user's own switch. */
class Server {
  tools = new Map();
  unreadable = new Set();
  loading = Promise.resolve();

  constructor(spec, save) {
    this.spec = spec;
    this.save = save;
    this.records = new Map(spec.records);
    this.upstream = new Upstream(spec);
  }

  get name() { return this.spec.name; }
  report(error) { log(`${this.name}: ${error.cause?.message ?? error.message}`); }

  /** Looks at the upstream's tools again; several looks are taken one after the other. */
  load() {
    this.loading = this.loading.catch(() => {}).then(() => this.look());
    return this.loading;
  }

  async look() {
    if (!this.spec.enabled || this.closed) return;
    const tools = await this.upstream.listTools();
    this.tools = new Map(tools.map((tool) => [tool.name, toolOf(tool)]));
    this.loaded = true;
    if (!this.spec.contacted) this.firstContact();
  }

  /** The tools that are there at the first contact are approved; later ones wait for it. */
  firstContact() {
    this.spec.contacted = true;
    this.approve([...this.tools.keys()]);
  }

  /** Tries until the tools were seen, the server is switched off, or the proxy ends. */
  async loadEventually() {
    this.loaded = false;
    while (!this.loaded && this.spec.enabled && !this.closed) {
      await this.load().catch((error) => this.report(error));
      if (!this.loaded) await delay(RETRY_MS, undefined, { ref: false });
    }
  }

  async close() {
    this.closed = true;
    await this.upstream.close();
  }

  isDeniedByConfig(name) {
    const { allow, deny } = this.spec;
    return allow ? !allow.includes(name) : Boolean(deny?.includes(name));
  }

  isApproved({ name, fingerprint }) {
    return this.spec.trusted || this.records.get(name)?.approved === fingerprint;
  }

  /** Whether the search index holds the tool: never its description as long as nobody has approved it. */
  isIndexed(tool) { return !this.spec.quarantined && this.isApproved(tool); }

  /** The only status of a tool by the fixed precedence, or undefined: callable. Enforcement asks this, too. */
  statusOf(tool) {
    if (!this.spec.enabled) return "server_disabled";
    if (this.isDeniedByConfig(tool.name)) return "disabled_by_config";
    if (this.spec.quarantined) return "server_quarantined";
    if (this.unreadable.has(tool.name)) return "disabled_unknown";
    if (this.records.get(tool.name)?.disabled) return "disabled_by_user";
    return this.isApproved(tool) ? undefined : "pending_approval";
  }

  /** The counts by reason, or undefined if every tool is callable. */
  tally() {
    const tally = { callable: 0 };
    for (const tool of this.tools.values()) {
      const key = this.statusOf(tool) ?? "callable";
      tally[key] = (tally[key] ?? 0) + 1;
    }
    return tally.callable === this.tools.size ? undefined : tally;
  }

  summary() {
    const { name, url, enabled, quarantined } = this.spec;
    return { id: name, transport: url ? "http" : "stdio", enabled, quarantined, tally: this.tally() };
  }

  configure(changes) {
    Object.assign(this.spec, changes);
    this.save();
  }

  /** Changes the operator's list: the one of the only allowed tools where there is one, or that of the denied. */
  setDenied(names, denied) {
    const kind = this.spec.allow ? "allow" : "deny";
    const others = (this.spec[kind] ?? []).filter((name) => !names.includes(name));
    this.configure({ [kind]: denied === (kind === "deny") ? [...others, ...names] : others });
  }

  amend(names, changesOf) {
    for (const name of names) this.records.set(name, { ...this.records.get(name), ...changesOf(name) });
    this.configure({ records: [...this.records] });
  }

  approve(names) {
    const unseen = names.filter((name) => !this.tools.has(name));
    if (unseen.length) throw new Refusal(`no such tool of ${this.name}: ${unseen.join(", ")}`);
    this.amend(names, (name) => ({ approved: this.tools.get(name).fingerprint }));
  }

  async setEnabled(enabled) {
    this.configure({ enabled });
    await (enabled ? within(START_MS, this.loadEventually()) : this.upstream.close());
  }

  setUnreadable(name, on) { this.unreadable[on ? "add" : "delete"](name); }

  async refresh() {
    if (!this.spec.enabled) throw new Refusal(`${this.name} is switched off`);
    await this.load();
  }
}

function termsOf(query) {
  const bare = query.toLowerCase().split(/\s+/).map((term) => term.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""));
  return [...new Set(bare)].filter(Boolean);
}

/** Terms match anywhere; very short ones, if they are not the whole query, match whole words only. */
const occursIn = (text, term, alone) =>
  alone || term.length > 2 ? text.includes(term) : text.split(/[^\p{L}\p{N}]+/u).includes(term);

/** Substring scoring: the larger the part of the name that a term covers the better, then the description. */
function scoreOf(terms, name, description) {
  const alone = terms.length === 1;
  let score = 0;
  for (const term of terms) {
    if (occursIn(name, term, alone)) score += 4 + (4 * term.length) / name.length;
    if (occursIn(description, term, alone)) score += 2;
  }
  return score;
}

// --------------------------------------------------------------------------------------- discovery, listing, calls

const objectOf = (properties, required = []) => ({ type: "object", properties, required });

const QUESTION = {
  intent: { type: "string", description: "What you are looking for, in a few words." },
  at_most: { type: "integer", minimum: 1, default: DEFAULT_LIMIT, description: "How many tools you want." },
  include_disabled: { type: "boolean", default: false, description: "List locked tools, too." },
};
const FIND = {
  name: "find_capability",
  description:
    "Search the tools of all upstream servers by words of their names and descriptions; call what you find with " +
    "`invoke`. Set `include_disabled` to true to see also the tools that exist but are locked at present, each with " +
    "its status, and what can be done about it.",
  inputSchema: objectOf(QUESTION, ["intent"]),
};
const SURVEY = {
  name: "survey_upstreams",
  description: "List the upstream servers with their state and, where tools are locked, how many for which reason.",
  inputSchema: objectOf({ only: { type: "string", description: "Inspect this server alone." } }),
};
const TARGET = { server: { type: "string" }, tool: { type: "string", description: "Its name within the server." } };
const INPUT = { type: "object", description: "The arguments, by the tool's own schema." };
const INVOKE = {
  name: "invoke",
  description: "Call a tool of an upstream server, as found by `find_capability`.",
  inputSchema: objectOf({ target: objectOf(TARGET, ["server", "tool"]), input: INPUT }, ["target"]),
};

const jsonResult = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const failure = (value) => ({ ...jsonResult(value), isError: true });
const qualified = (server, tool) => `${server.name}/${tool.name}`;
const isText = (value) => typeof value === "string" && value.trim() !== "";

function argument(args, name, fallback, isValid, expected) {
  const value = args[name] ?? fallback;
  if (!isValid(value)) throw new BadArguments(`\`${name}\` must be ${expected}`);
  return value;
}

/** An entry of either list. Undefined members stay out of the JSON text. */
const entryOf = ({ server, tool, name, status, indexed }) => ({
  name,
  server: server.name,
  description: indexed ? tool.description : undefined,
  status,
  input_schema: status ? undefined : tool.inputSchema,
});

const remediationsFor = (hits) => Object.fromEntries(hits.map(({ status }) => [status, REMEDIATION[status]]));

function hintFor(count) {
  const subject = count === 1 ? "1 locked tool matches" : `${count} locked tools match`;
  return `${subject}; repeat this search with include_disabled=true to see what is locked and why.`;
}

function rejection(server, tool, status) {
  const advice = `To see which tools are locked and why, call ${FIND.name} with include_disabled=true.`;
  const rejected = `${qualified(server, tool)} is locked (${status}). ${REMEDIATION[status]} ${advice}`;
  return failure({ rejected, status });
}

/** What a principal (the administrator or an agent) can do; its scope is applied before anything else. */
class Toolbox {
  optIns = 0;

  handlers = {
    [FIND.name]: (args, scope) => this.find(args, scope),
    [SURVEY.name]: (args, scope) => this.survey(args, scope),
    [INVOKE.name]: (args, scope) => this.invoke(args, scope),
  };

  constructor(servers) { this.servers = servers; }

  async run(name, args, scope) {
    if (!Object.hasOwn(this.handlers, name)) throw new RpcError(-32602, `unknown tool: ${name}`);
    try {
      if (!isObject(args)) throw new BadArguments("the arguments must be an object");
      return await this.handlers[name](args, scope);
    } catch (error) {
      if (error instanceof BadArguments) return failure({ error: error.message });
      throw error;
    }
  }

  visible(scope) { return [...this.servers.values()].filter(({ name }) => !scope || scope.includes(name)); }

  find(args, scope) {
    const intent = argument(args, "intent", undefined, isText, "a text");
    const limit = argument(args, "at_most", DEFAULT_LIMIT, (n) => Number.isInteger(n) && n > 0, "a positive integer");
    const optedIn = argument(args, "include_disabled", false, (flag) => typeof flag === "boolean", "true or false");
    if (optedIn) this.optIns += 1;
    return jsonResult(this.findings(this.search(termsOf(intent), scope), limit, optedIn));
  }

  findings(hits, limit, optedIn) {
    const callable = hits.filter(({ status }) => !status);
    const locked = hits.filter(({ status }) => status);
    const shown = optedIn ? locked.slice(0, Math.min(limit, LOCKED_CAP)) : [];
    const answer = { matches: callable.slice(0, limit).map(entryOf) };
    if (shown.length) return { ...answer, locked: shown.map(entryOf), next_steps: remediationsFor(shown) };
    return callable.length || !locked.length ? answer : { ...answer, hint: hintFor(locked.length) };
  }

  /** All matches, best first: of the index by name and description, of what is not in the index by name alone. */
  search(terms, scope) {
    const hits = [];
    for (const server of this.visible(scope)) {
      for (const tool of server.tools.values()) {
        const indexed = server.isIndexed(tool);
        if (!indexed && server.isDeniedByConfig(tool.name)) continue;
        const description = indexed ? tool.description : "";
        const name = qualified(server, tool);
        const score = scoreOf(terms, name.toLowerCase(), description.toLowerCase());
        if (score > 0) hits.push({ server, tool, name, score, indexed, status: server.statusOf(tool) });
      }
    }
    return hits.sort((a, b) => b.score - a.score || compare(a.name, b.name));
  }

  survey(args, scope) {
    const only = argument(args, "only", "", (name) => typeof name === "string", "a server's name");
    const servers = this.visible(scope).filter(({ name }) => !only || name === only);
    if (only && !servers.length) throw new BadArguments(`unknown server: ${only}`);
    return jsonResult({ upstreams: servers.map((server) => server.summary()) });
  }

  async invoke(args, scope) {
    const target = argument(args, "target", undefined, isObject, "an object with `server` and `tool`");
    const input = argument(args, "input", {}, isObject, "an object");
    const name = argument(target, "tool", undefined, isText, "the name of a tool");
    const server = this.visible(scope).find((candidate) => candidate.name === target.server);
    const tool = server?.tools.get(name) ?? (server?.spec.enabled === false ? { name } : undefined);
    if (!tool) throw new BadArguments(`unknown tool: ${target.server}/${name}`);
    const status = server.statusOf(tool);
    return status ? rejection(server, tool, status) : this.forward(server, name, input);
  }

  async forward(server, name, input) {
    try {
      return await server.upstream.callTool(name, input);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      server.report(error);
      return failure({ error: `the upstream server ${server.name} could not be reached: ${error.message}` });
    }
  }
}

// ---------------------------------------------------------------------------------------------- the MCP endpoint

const rpcFailure = (id, code, message, data) => ({ jsonrpc: "2.0", id, error: { code, message, data } });

async function readMessage(request) {
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new HttpError(400, "the body is not JSON");
  }
}

function send(response, status, value, headers = {}) {
  if (value === undefined) return response.writeHead(status, headers).end();
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
}

/** Browsers send an Origin; only pages of this machine may use the proxy (DNS rebinding). */
const LOCAL_ORIGIN = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

const isRequest = (message) => isObject(message) && message.jsonrpc === "2.0" && typeof message.method === "string";
const isAnswer = (message) => isObject(message) && ("result" in message || "error" in message);

/** MCP over streamable HTTP, with JSON answers. `principals` gives for each bearer token its scope. */
class Gateway {
  sessions = new Map();

  constructor(toolbox, principals) {
    this.toolbox = toolbox;
    this.principals = principals;
    this.http = createServer((request, response) => this.serve(request, response));
  }

  async listen() {
    await new Promise((resolve, reject) => this.http.once("error", reject).listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.http.address().port}${ENDPOINT}`;
  }

  async close() {
    const closed = new Promise((resolve) => this.http.close(resolve));
    this.http.closeAllConnections();
    await closed;
  }

  async serve(request, response) {
    try {
      await this.route(request, response);
    } catch (error) {
      if (!(error instanceof HttpError)) log(error.stack);
      const { code, message, details } = error instanceof HttpError ? error : new HttpError(500, "internal error");
      send(response, code, rpcFailure(null, code < 500 ? -32600 : -32603, message), details);
    }
  }

  route(request, response) {
    if (request.url.split("?")[0] !== ENDPOINT) throw new HttpError(404, "no such endpoint");
    if (!LOCAL_ORIGIN.test(request.headers.origin ?? "http://localhost")) throw new HttpError(403, "foreign origin");
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    const principal = this.principals.get(token);
    if (!principal) throw new HttpError(401, "a known bearer token is needed");
    if (request.method === "POST") return this.post(request, response, principal);
    if (request.method !== "DELETE") throw new HttpError(405, "POST or DELETE", { Allow: "POST, DELETE" });
    this.sessions.delete(this.session(request, principal).id);
    send(response, 204);
  }

  async post(request, response, principal) {
    const body = await readMessage(request);
    if (isRequest(body) && body.method === "initialize") return this.openSession(body, response, principal);
    const session = this.session(request, principal);
    if (Array.isArray(body) && session.revision !== "2025-03-26") throw new HttpError(400, "no batches here");
    const answering = [body].flat().map((message) => this.answer(message, principal));
    const answers = (await Promise.all(answering)).filter(Boolean);
    if (!answers.length) return send(response, 202);
    send(response, 200, Array.isArray(body) ? answers : answers[0]);
  }

  openSession(message, response, principal) {
    const wanted = message.params?.protocolVersion;
    const session = { id: randomUUID(), principal, revision: REVISIONS.includes(wanted) ? wanted : REVISIONS[0] };
    this.sessions.set(session.id, session);
    const result = { protocolVersion: session.revision, capabilities: { tools: {} }, serverInfo: IMPLEMENTATION };
    send(response, 200, { jsonrpc: "2.0", id: message.id, result }, { "Mcp-Session-Id": session.id });
  }

  session({ headers }, principal) {
    const id = headers["mcp-session-id"];
    if (!id) throw new HttpError(400, "the header Mcp-Session-Id is missing");
    const session = this.sessions.get(id);
    if (session?.principal !== principal) throw new HttpError(404, "unknown session");
    const revision = headers["mcp-protocol-version"];
    if (revision && !REVISIONS.includes(revision)) throw new HttpError(400, `unsupported revision: ${revision}`);
    return session;
  }

  /** The answer to a request; undefined for a notification, and for an answer (we never ask). */
  async answer(message, principal) {
    if (isAnswer(message) || (isRequest(message) && message.id === undefined)) return undefined;
    if (!isRequest(message)) return rpcFailure(null, -32600, "not a JSON-RPC request");
    try {
      return { jsonrpc: "2.0", id: message.id, result: await this.dispatch(message, principal) };
    } catch (error) {
      if (error instanceof RpcError) return rpcFailure(message.id, error.code, error.message, error.details);
      log(error.stack);
      return rpcFailure(message.id, -32603, "internal error");
    }
  }

  dispatch({ method, params = {} }, principal) {
    if (method === "ping") return {};
    if (method === "tools/list") return { tools: [FIND, SURVEY, INVOKE] };
    if (method === "tools/call") return this.toolbox.run(params.name, params.arguments ?? {}, principal.scope);
    throw new RpcError(-32601, `method not found: ${method}`);
  }
}

// --------------------------------------------------------------------------------- the whole proxy, its adapter

const bearer = (token) => ({ Authorization: `Bearer ${token}` });

/** A running proxy on a state folder. */
class ToolProxy {
  constructor(dir) {
    this.state = JSON.parse(readFileSync(join(dir, "state.json"), "utf8"));
    const save = () => saveState(dir, this.state);
    this.servers = new Map(this.state.servers.map((spec) => [spec.name, new Server(spec, save)]));
    this.toolbox = new Toolbox(this.servers);
    const agents = this.state.agents.map(({ token, scope }) => [token, { scope }]);
    this.gateway = new Gateway(this.toolbox, new Map([[this.state.adminToken, { scope: undefined }], ...agents]));
  }

  /** Comes up, waits (not for ever) until the upstreams' tools were seen, and gives the ways in. */
  async start() {
    await this.gateway.listen();
    await within(START_MS, Promise.all([...this.servers.values()].map((server) => server.loadEventually())));
    const agents = Object.fromEntries(this.state.agents.map(({ name, token }) => [name, bearer(token)]));
    return { url: this.gateway.url, headers: bearer(this.state.adminToken), agents };
  }

  async close() {
    await Promise.all([this.gateway, ...this.servers.values()].map((part) => part.close()));
  }
}

/** What each kind of lock sets, and each kind of unlock takes back; an approval is no lock, it can only be given. */
const LOCKS = {
  config: (server, tools, on) => server.setDenied(tools, on),
  user: (server, tools, on) => server.amend(tools, () => ({ disabled: on })),
  quarantine: (server, tools, on) => server.configure({ quarantined: on }),
  server: (server, tools, on) => server.setEnabled(!on),
};
const UNLOCKS = { ...LOCKS, approval: (server, tools) => server.approve(tools) };

/** The adapter protocol: each operation gives the `ok` of its answer, or throws. */
class Adapter {
  operations = {
    start: (request) => this.start(request),
    restart: () => this.restart(),
    lock: ({ kind, server, tools }) => LOCKS[kind](this.server(server), tools, true),
    unlock: ({ kind, server, tools }) => UNLOCKS[kind](this.server(server), tools, false),
    refresh: ({ server }) => this.server(server).refresh(),
    counter: () => ({ count: this.proxy.toolbox.optIns }),
    indeterminate: ({ server, tools, on }) => tools.forEach((tool) => this.server(server).setUnreadable(tool, on)),
  };

  async start({ dir, world }) {
    saveState(dir, initialState(world));
    this.dir = dir;
    return this.open();
  }

  async restart() {
    await this.proxy.close();
    return this.open();
  }

  async open() {
    this.proxy = new ToolProxy(this.dir);
    return this.proxy.start();
  }

  server(name) {
    if (!this.proxy.servers.has(name)) throw new Refusal(`no such server: ${name}`);
    return this.proxy.servers.get(name);
  }

  async answer({ id, op, ...request }) {
    const kinds = { lock: LOCKS, unlock: UNLOCKS }[op];
    const isKnown = Object.hasOwn(this.operations, op) && (!kinds || Object.hasOwn(kinds, request.kind));
    if (!isKnown) return { id, unsupported: true };
    if (!this.proxy && op !== "start") return { id, error: "the proxy is not started" };
    try {
      return { id, ok: (await this.operations[op](request)) ?? {} };
    } catch (error) {
      if (error instanceof Refusal) return { id, refused: error.message };
      log(error.stack);
      return { id, error: error.message };
    }
  }

  async reply(line) { process.stdout.write(`${JSON.stringify(await this.answer(JSON.parse(line)))}\n`); }

  /** Reads on while it works, so that it notices the end of the input at once. */
  async serve(input) {
    let working = Promise.resolve();
    for await (const line of linesOf(input)) {
      if (line.trim()) working = working.then(() => this.reply(line)).catch((error) => log(error.stack));
    }
    await within(STOP_MS, working);
  }
}

const adapter = new Adapter();
await adapter.serve(process.stdin);
await adapter.proxy?.close();
process.exit();
