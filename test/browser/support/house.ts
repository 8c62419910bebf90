/** A node as a process of its own, with its pages, and workers as processes of their own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '../../../src/client/client.ts';
import type { AnswerOf, RouteName } from '../../../src/protocol/routes.ts';
import { BIN, type Ends, ROOT, type Running, run, temporaryFolder } from '../../support/leasehold.ts';

/** A host that is busy may need long; what never comes fails then. */
export const PATIENCE_MS = 30_000;

const HANDLERS = fileURLToPath(new URL('tasks.ts', import.meta.url));

export interface HouseOptions {
  /** Of `leasehold up`. */
  readonly args?: readonly string[];
  /** Only the handlers that every node has: those of the tests have machines of their own. */
  readonly bare?: boolean;
}

export interface WorkerPlan {
  readonly tags?: readonly string[];
  readonly slots?: number;
  readonly args?: readonly string[];
}

export class House {
  readonly url: string;
  readonly token: string;
  /** Asks as the admin, by the same types as the pages do. */
  readonly client: Client;
  readonly folder: string;
  readonly #ends: Ends;
  readonly #args: readonly string[];
  #process: Running;
  /** What processes of this house have said before they were started anew. */
  #said = '';

  private constructor(ends: Ends, folder: string, args: readonly string[], process: Running, url: string) {
    this.#ends = ends;
    this.folder = folder;
    this.#args = args;
    this.#process = process;
    this.url = url;
    this.token = readFileSync(join(folder, '.leasehold/token'), 'utf8').trim();
    this.client = new Client({ url, token: this.token });
  }

  static async open(ends: Ends, { args: more = [], bare = false }: HouseOptions = {}): Promise<House> {
    buildPages();
    const folder = temporaryFolder(ends);
    const args = bare ? more : ['--handlers', HANDLERS, ...more];
    const process = run(ends, ['up', '--name', 'node', ...args, '--port', '0'], { cwd: folder });
    const house = new House(ends, folder, args, process, await process.address());
    await house.ready();
    return house;
  }

  call<N extends RouteName>(...ask: Parameters<typeof Client.prototype.call<N>>): Promise<AnswerOf<N>> {
    return this.client.call(...ask);
  }

  /** The id of a new task. */
  async push(task: { readonly queue: string } & Record<string, unknown>): Promise<string> {
    const pushed = await this.call('pushTasks', { body: { handler: task.queue, ...task } });
    assert.ok('id' in pushed, JSON.stringify(pushed));
    return pushed.id;
  }

  task(id: string): Promise<AnswerOf<'getTask'>> {
    return this.call('getTask', { params: { id } });
  }

  /** The task, once it is in that state. */
  async becomes(id: string, state: string): Promise<AnswerOf<'getTask'>> {
    let task = await this.task(id);
    await this.until(async () => {
      task = await this.task(id);
      return task.state === state;
    }, `${id} is ${state}`);
    return task;
  }

  /** A token of a role. */
  async tokenFor(role: 'admin' | 'operator' | 'read'): Promise<string> {
    return (await this.call('createToken', { body: { name: `a test, as ${role}`, role } })).token;
  }

  /** A worker of another process, which has come. */
  async hire(name: string, { tags = [], slots = 2, args = [] }: WorkerPlan = {}): Promise<Running> {
    const { secret } = await this.call('createWorker', { body: { name, tags: [...tags] } });
    const given = ['--name', name, '--secret', secret as string, '--slots', String(slots), '--handlers', HANDLERS];
    const process = run(
      this.#ends,
      ['worker', '--join', this.url, ...given, ...tags.flatMap((tag) => ['--tag', tag]), ...args],
      {
        cwd: this.folder,
      },
    );
    await this.until(async () => {
      const { workers } = await this.call('listWorkers');
      return workers.some((one) => one.name === name && one.state === 'online');
    }, `${name} has come`);
    return process;
  }

  async until(isSo: () => Promise<boolean>, what: string): Promise<void> {
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(25))
      if (await isSo()) return;
    assert.fail(`it never came that ${what}`);
  }

  /** All that it has written. */
  get said(): string {
    return this.#said + this.#process.stdout + this.#process.stderr;
  }

  /** As by a fault of the machine: nothing is said, nothing is given back. */
  async kill(): Promise<void> {
    this.#process.child.kill('SIGKILL');
    await this.#process.ended;
  }

  /** On the same store, at the same address. */
  async startAgain(): Promise<void> {
    this.#said = this.said;
    const given = ['up', '--name', 'node', ...this.#args, '--port', new URL(this.url).port];
    this.#process = run(this.#ends, given, { cwd: this.folder });
    await this.#process.address();
    await this.ready();
  }

  /** Runs `leasehold ARGS` in the folder of the node. */
  command(args: readonly string[]): Running {
    return run(this.#ends, args, { cwd: this.folder });
  }

  /** Runs a line that begins with "npx leasehold", or with variables before it, as a shell would, in the folder of the node. */
  shell(line: string): Running {
    const ours = line.replace(/^((?:\w+=\S+ )*)npx leasehold /, '$1exec "$$0" "$$1" ');
    assert.notEqual(ours, line);
    return run(this.#ends, ['-c', ours, process.execPath, BIN], { cwd: this.folder, command: 'sh' });
  }

  private ready(): Promise<void> {
    const asked = (): Promise<boolean> =>
      fetch(`${this.url}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    return this.until(asked, 'the node is ready');
  }
}

let built = false;

function buildPages(): void {
  if (built) return;
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'web/ensure-built.js')], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stderr, /could not be built|not built/, stderr);
  built = true;
}
