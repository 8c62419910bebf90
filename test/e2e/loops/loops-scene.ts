/** A node, its worker and the workspaces of loops, as real processes: asked over the API of loopd alone. Agents are small programs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Running, run, temporaryFolder } from '../../support/leasehold.ts';
import { messagesOf, type Wire } from '../../support/node-scene.ts';
import { freshDatabase } from '../../support/postgres.ts';

export const STORES = ['sqlite', 'postgres'] as const;
export const LINKS = ['in process', 'joined'] as const;
export type Store = (typeof STORES)[number];
export type Link = (typeof LINKS)[number];

export const TOKEN = '<promise>COMPLETE</promise>';
/** What an agent says that is done. */
export const DONE = `echo "${TOKEN}"`;
/** Different words each time: a loop that says the same again is no progress. */
export const PIECE = 'echo "piece $n"';
/** Until the test makes the file `go`. */
export const WAIT = 'touch up; until [ -e go ]; do sleep 0.02; done';

const ADMIN = 'an-admin-token-of-a-test';
const PATIENCE_MS = 60_000;
const LEASE = '3s';
const TAG = 'loop-root=main';

/** Keeps each prompt, and says what the turn of that number says; the last turn is for all that come after it. */
const AGENT = `n=$(($(cat n 2>/dev/null || echo 0) + 1))
echo "$n" > n
cat > "prompt.$n"
if [ -e "turn.$n" ]; then . "./turn.$n"; else . ./turn; fi
`;
const program = (file: string): object => ({ type: 'command', config: { command: ['sh', file], output: 'text' } });

/** What was answered, parsed. */
export interface Reply {
  readonly status: number;
  readonly body: Wire;
}

/** A folder in which a loop works. */
export class Workspace {
  readonly name: string;
  readonly folder: string;

  constructor(name: string, folder: string) {
    this.name = `main/${name}`;
    this.folder = folder;
  }

  has = (file: string): boolean => existsSync(join(this.folder, file));
  read = (file: string): string => readFileSync(join(this.folder, file), 'utf8');
  write = (file: string, text = ''): void => writeFileSync(join(this.folder, file), text);

  /** How often its agent was asked. */
  get asked(): number {
    return this.has('n') ? Number(this.read('n')) : 0;
  }
}

export class Repository extends Workspace {
  constructor(name: string, folder: string) {
    super(name.slice('main/'.length), folder);
  }

  git = (...args: readonly string[]): string =>
    execFileSync('git', [...IDENTITY, ...args], { cwd: this.folder, encoding: 'utf8', stdio: 'pipe' }).trim();

  commit(message: string): void {
    this.git('add', '--all');
    this.git('commit', '--quiet', '-m', message);
  }

  /** The first lines of the commits of a branch, the newest first. */
  log = (branch: string): readonly string[] => this.git('log', '--topo-order', '--format=%s', branch).split('\n');

  /** Where a run of this name works. */
  worktree = (run: string): Workspace => new Workspace(run, `${this.folder}.run-${run}`);
}

const IDENTITY = ['-c', 'user.name=t', '-c', 'user.email=t@localhost', '-c', 'init.defaultBranch=main'];

export class LoopsScene {
  readonly link: Link;
  readonly #t: TestContext;
  readonly #store: string;
  readonly #folder: string;
  #address = '';
  #node: Running | undefined;
  #worker: Running | undefined;
  #secret = '';
  #count = 0;

  private constructor(t: TestContext, store: string, link: Link) {
    this.#t = t;
    this.#store = store;
    this.link = link;
    this.#folder = temporaryFolder(t);
    for (const name of ['root', 'node', 'box']) mkdirSync(join(this.#folder, name));
  }

  static async open(t: TestContext, store: Store, link: Link): Promise<LoopsScene> {
    const scene = new LoopsScene(t, store === 'postgres' ? await freshDatabase('loops') : 'sqlite:loops.db', link);
    await scene.#startNode('0');
    if (link === 'joined') {
      const made = await scene.post('/api/v1/workers', { name: 'box', tags: [TAG], handlers: null });
      scene.#secret = made.body.secret;
      await scene.#startWorker();
    }
    return scene;
  }

  count = (): number => ++this.#count;

  /** What the agent says in each of its turns, as lines of a shell. A reviewer is asked by a program of its own. */
  workspace(turns: readonly string[], reviews = 'echo "I looked at piece $(cat n)"'): Workspace {
    const name = `w${++this.#count}`;
    const workspace = new Workspace(name, join(this.#folder, 'root', name));
    mkdirSync(workspace.folder);
    workspace.write('agent.sh', AGENT);
    workspace.write('review.sh', `cat > /dev/null\n${reviews}\n`);
    for (const [i, turn] of turns.entries()) workspace.write(`turn.${i + 1}`, turn);
    workspace.write('turn', turns.at(-1));
    return workspace;
  }

  /** The same in a repository with one commit on `main`. */
  repository(turns: readonly string[]): Repository {
    const { name, folder } = this.workspace(turns);
    const repository = new Repository(name, folder);
    repository.git('init', '--quiet');
    repository.commit('Begin');
    return repository;
  }

  /** Settings as loopd has them, without a pause between tries. */
  async start({ name }: Pick<Workspace, 'name'>, settings: readonly string[] = [], more: object = {}): Promise<string> {
    const { status, body } = await this.post('/runs', {
      workspace_root: name,
      prompt: 'Go on.',
      agent: program('agent.sh'),
      review_agent: program('review.sh'),
      config_override: ['claude_retry_backoff_sec=0', ...settings].join('\n'),
      ...more,
    });
    assert.equal(status, 201, JSON.stringify(body));
    return body.run.id;
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const { authorization = `Bearer ${ADMIN}`, ...more } = (init.headers ?? {}) as Record<string, string>;
    const headers = authorization === '' ? more : { authorization, ...more };
    return fetch(this.#address + path, { ...init, headers });
  }

  get = async (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
    replyOf(await this.fetch(path, { headers }));
  post = async (path: string, body: object = {}, headers: object = {}): Promise<Reply> =>
    replyOf(await this.fetch(path, { ...posting(body), headers: { ...posting(body).headers, ...headers } }));

  act = async (id: string, what: 'pause' | 'resume' | 'cancel' | 'retry'): Promise<number> =>
    (await this.post(`/runs/${id}/${what}`)).status;
  run = async (id: string): Promise<Wire> => (await this.get(`/runs/${id}`)).body.run;
  steps = async (id: string): Promise<readonly Wire[]> => (await this.get(`/runs/${id}/steps`)).body.steps;

  /** `phase attempt status`, in their order. */
  async phases(id: string): Promise<readonly string[]> {
    return (await this.steps(id)).map(({ phase, attempt, status }: Wire) => `${phase} ${attempt} ${status}`);
  }

  /** A bound of so many at once; null: none. */
  async limit(name: string, bound: { readonly concurrent?: number | null; readonly perKey?: number | null }) {
    const { status } = await this.fetch(`/api/v1/limits/${name}`, { ...posting(bound), method: 'PATCH' });
    assert.equal(status, 200);
  }

  /** All that a stream says until it ends. */
  async stream(path: string, headers: Record<string, string> = {}) {
    const response = await this.fetch(path, { headers });
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
    return Array.fromAsync(messagesOf(response));
  }

  /** The run when it is over: its stream ends then. */
  async ended(id: string): Promise<Wire> {
    await this.stream(`/runs/${id}/events`);
    return this.run(id);
  }

  async until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(20))
      if (await isSo()) return;
    assert.fail(`it never came that ${what}`);
  }

  becomes = (id: string, status: string): Promise<void> =>
    this.until(async () => (await this.run(id)).status === status, `the run is ${status}`);

  /** A worker of loopd that only the test moves. A call is about its session unless it names a path. */
  async loopdWorker(name: string, tag: string): Promise<(call: string, body?: object) => Promise<Reply>> {
    const { secret } = (await this.post('/api/v1/workers', { name, tags: [tag], handlers: null })).body;
    const said = { hostname: 'elsewhere', capabilities: { handlers: ['machine'], tags: [tag] } };
    const { body } = await this.post('/workers/register', said, { authorization: `Bearer ${secret}` });
    const headers = { authorization: '', 'x-session-token': body.session_token };
    return (call, sent = {}) =>
      this.post(call.startsWith('/') ? call : `/workers/${body.worker_id}/${call}`, sent, headers);
  }

  /** Whoever does the work dies, and another one comes. */
  async killWorker(): Promise<void> {
    const victim = this.link === 'joined' ? this.#worker : this.#node;
    victim?.child.kill('SIGKILL');
    await victim?.ended;
    await (this.link === 'joined' ? this.#startWorker() : this.#startNode(new URL(this.#address).port));
  }

  async #startNode(port: string): Promise<void> {
    const worker = this.link === 'joined' ? ['--no-worker'] : this.#works;
    // A node that was killed leads until its own lease has run out, and nobody takes back what its worker had before.
    const leases = ['--lease-duration', LEASE, '--leader-lease', LEASE, '--leader-renew', '1s'];
    const flags = ['--json', '--port', port, '--store', this.#store, ...leases, '--name', 'box'];
    this.#node = run(this.#t, ['up', ...flags, ...worker], {
      cwd: join(this.#folder, 'node'),
      env: { LEASEHOLD_TOKEN: ADMIN },
    });
    this.#address = await this.#node.address();
    await this.until(async () => (await this.fetch('/readyz')).status === 200, 'the node is ready');
  }

  async #startWorker(): Promise<void> {
    const who = ['--join', this.#address, '--name', 'box', '--secret', this.#secret, '--allow', 'shell', '--json'];
    this.#worker = run(this.#t, ['worker', ...who, ...this.#works], { cwd: join(this.#folder, 'box') });
    await this.#worker.says(/"started"/);
  }

  get #works(): readonly string[] {
    return ['--loop-root', `main=${join(this.#folder, 'root')}`, '--slots', '8'];
  }
}

const posting = (body: object) => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}
