/** A node, a server of git, and workers on "two machines": processes that share no folder with each other, and know each other by neither. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type GitServer, gitServer } from '../../support/git/git-server.ts';
import { git, scratchRepository } from '../../support/git/scratch.ts';
import { type Running, run } from '../../support/leasehold.ts';
import type { Wire } from '../../support/node-scene.ts';
import { scratch } from '../children.ts';
import { until } from '../survivors.ts';

const PATIENCE_MS = 60_000;
const LEASE = '2s';
const ADMIN = 'an-admin-token-of-a-test';

export class TwoMachines {
  readonly #t: TestContext;
  readonly folder: string;
  readonly git: GitServer;
  /** The repository, as its server names it. */
  readonly url: string;
  readonly #bare: string;
  readonly #secrets = new Map<string, string>();
  #address = '';

  private constructor(t: TestContext, folder: string, server: GitServer, files: Readonly<Record<string, string>>) {
    this.#t = t;
    this.folder = folder;
    this.git = server;
    this.url = server.publish('shop', scratchRepository(join(folder, 'source'), files));
    this.#bare = join(server.folder, 'shop.git');
    mkdirSync(this.notes);
  }

  /** `password`: the server of git asks for it. */
  static async open(t: TestContext, files: Readonly<Record<string, string>>, password?: string): Promise<TwoMachines> {
    const folder = scratch(t, 'two-machines');
    const scene = new TwoMachines(
      t,
      folder,
      await gitServer(join(folder, 'server'), password === undefined ? {} : { password }),
      files,
    );
    await scene.#startNode();
    return scene;
  }

  /** Where programs of the test say what they do, and are told to go on. */
  get notes(): string {
    return join(this.folder, 'notes');
  }

  note = (name: string, text = ''): void => writeFileSync(join(this.notes, name), text);
  forget = (name: string): void => rmSync(join(this.notes, name), { force: true });
  noted = (name: string): boolean => existsSync(join(this.notes, name));

  /** The machines on which the program has run, in the order of its turns. */
  get turns(): readonly string[] {
    const file = join(this.notes, 'ran');
    const places = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
    return places.map((place) => place.slice(this.folder.length + 1).split('/')[0] as string);
  }

  /** The first lines of the commits of a branch at the server, the newest first. */
  log = (branch: string): readonly string[] =>
    git(this.#bare, 'log', '--topo-order', '--format=%s', branch).split('\n');
  branches = (): readonly string[] => git(this.#bare, 'branch', '--format=%(refname:short)').split('\n');
  show = (branch: string, file: string): string => git(this.#bare, 'show', `${branch}:${file}`);
  files = (branch: string): readonly string[] => git(this.#bare, 'ls-tree', '-r', '--name-only', branch).split('\n');

  /** Folders of workspaces that are on this machine. */
  left(machine: string): readonly string[] {
    const work = join(this.folder, machine, 'workspaces/1/work');
    return existsSync(work) ? readdirSync(work) : [];
  }

  /** A worker that has its own home, its own cache and one slot. */
  async machine(name: string): Promise<Running> {
    const cwd = join(this.folder, name);
    mkdirSync(join(cwd, 'home'), { recursive: true });
    const secret = this.#secrets.get(name) ?? (await this.#enrol(name));
    const who = ['--join', this.#address, '--name', name, '--slots', '1', '--allow', 'shell', '--json'];
    const gits = ['--git-host', '127.0.0.1', '--git-protocol', 'http', '--workspace-folder', join(cwd, 'workspaces')];
    const worker = run(this.#t, ['worker', ...who, ...gits, '--data-dir', join(cwd, 'data'), '--vault-level', 'file'], {
      cwd,
      env: { LEASEHOLD_WORKER_SECRET: secret, HOME: join(cwd, 'home'), CREDENTIALS_DIRECTORY: '' },
    });
    await worker.says(/"started"/);
    return worker;
  }

  /** Resolves when a push of commits is about to arrive; it does not before the test says so. */
  pushHeld(): { readonly begun: Promise<void>; readonly release: () => void } {
    const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.git.hold = () => {
      if (this.git.requests.at(-1)?.endsWith('/git-receive-pack') !== true) return Promise.resolve();
      begun.resolve();
      return held.promise;
    };
    const release = (): void => {
      this.git.hold = undefined;
      held.resolve();
    };
    return { begun: begun.promise, release };
  }

  async kill(worker: Running): Promise<void> {
    worker.child.kill('SIGKILL');
    await worker.ended;
  }

  /** It gives back what it has not begun, and ends. */
  async drain(worker: Running): Promise<void> {
    worker.child.kill('SIGTERM');
    assert.deepEqual(await worker.ended, { code: 0, signal: null });
  }

  /** A credential that these machines hold. */
  async entrust(name: string, value: string, machines: readonly string[]): Promise<void> {
    await this.ask('POST', '/api/v1/credentials', { name, value, workers: machines });
    await this.so('they hold it', async () => {
      const { workers } = await this.ask('GET', '/api/v1/workers');
      const holds = (machine: string): boolean =>
        workers.findLast((one: Wire) => one.name === machine)?.tags.includes(`credential:${name}`) === true;
      return machines.every(holds);
    });
  }

  /** What was refused. */
  async refused(method: string, path: string): Promise<{ readonly status: number; readonly error: string }> {
    const response = await fetch(this.#address + path, { method, headers: { authorization: `Bearer ${ADMIN}` } });
    return { status: response.status, error: ((await response.json()) as { readonly error: string }).error };
  }

  async ask(method: string, path: string, body?: object): Promise<Wire> {
    const response = await fetch(this.#address + path, {
      method,
      headers: { authorization: `Bearer ${ADMIN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async so(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    assert.ok((await until(isSo, PATIENCE_MS)) !== undefined, `in vain: ${what}`);
  }

  async #enrol(name: string): Promise<string> {
    const { secret } = await this.ask('POST', '/api/v1/workers', { name, tags: ['workspace=git'], handlers: null });
    this.#secrets.set(name, secret);
    return secret;
  }

  async #startNode(): Promise<void> {
    const cwd = join(this.folder, 'node');
    mkdirSync(cwd);
    const leases = ['--lease-duration', LEASE];
    const node = run(this.#t, ['up', '--no-worker', '--json', '--port', '0', '--store', 'sqlite:node.db', ...leases], {
      cwd,
      env: { LEASEHOLD_TOKEN: ADMIN },
    });
    this.#address = await node.address();
    await this.so('the node is ready', async () => (await fetch(`${this.#address}/readyz`)).ok);
  }
}
