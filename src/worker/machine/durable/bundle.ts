/** Bundles of machines: made from files, and opened again on any host. */
import { createHash } from 'node:crypto';
import { isAbsolute, relative, resolve } from 'node:path';
import { fault } from '../../../core/errors.ts';
import { filesOfAgent } from '../../../flow/agent/read-agent.ts';
import { isMap, type Value } from '../../../flow/expression/values.ts';
import { BUNDLE_ROOT, BUNDLED_NAME, type MachineBundle, MOST_BUNDLE } from '../../../flow/machine/bundle/bundle.ts';
import type { Machine } from '../../../flow/machine/definition.ts';
import { PROFILE_FILES } from '../../agents/load-agent.ts';
import { checkedMachine, peerSource, readMachineFile } from '../load-machine.ts';
import type { MachineSource, ReadSource } from '../loader-options.ts';

export interface BundledMachine {
  /** Of the text, in hexadecimal. */
  readonly hash: string;
  /** The bundle as JSON. The order of keys is part of the language, and is kept. */
  readonly text: string;
  readonly machine: Machine;
}

const MOST_MACHINES = 1000;

/** Reads all that the machine names. Throws `INVALID_INPUT` or `NOT_FOUND` for what could not run. */
export async function bundleMachine(
  source: MachineSource,
  { machines = new Map() }: { readonly machines?: ReadonlyMap<string, MachineSource> } = {},
): Promise<BundledMachine> {
  const collector = new Collector(source, machines);
  const machine = await collector.visit(source);
  const text = JSON.stringify(collector.bundle);
  if (text.length > MOST_BUNDLE) throw fault('TOO_LARGE', { field: source.name, maxBytes: MOST_BUNDLE });
  return { hash: createHash('sha256').update(text).digest('hex'), text, machine };
}

/** Where the machine of a bundle is read from, and how to read what it names. */
export function openBundle(text: string): {
  readonly source: MachineSource;
  readonly read: ReadSource;
  readonly machines: ReadonlyMap<string, MachineSource>;
} {
  const { machine, files, registered } = JSON.parse(text) as MachineBundle;
  return {
    source: machine,
    machines: new Map(Object.entries(registered)),
    read: async (path) => {
      if (!Object.hasOwn(files, path))
        throw fault('NOT_FOUND', { kind: 'file', id: path }, { hint: 'It is not part of the run.' });
      return { value: files[path], folder: resolve(path, '..'), name: relative(machine.folder, path) };
    },
  };
}

class Collector {
  readonly #root: MachineSource;
  readonly #machines: ReadonlyMap<string, MachineSource>;
  readonly #files = new Map<string, unknown>();
  readonly #registered = new Map<string, MachineSource>();
  readonly #seen = new Set<unknown>();

  constructor(root: MachineSource, machines: ReadonlyMap<string, MachineSource>) {
    this.#root = root;
    this.#machines = machines;
  }

  get bundle(): MachineBundle {
    const { value } = this.#root;
    return {
      machine: { value, folder: this.#virtual(this.#root.folder), name: BUNDLED_NAME },
      files: Object.fromEntries(this.#files),
      registered: Object.fromEntries(
        [...this.#registered].map(([name, one]) => [
          name,
          { value: one.value, folder: this.#virtual(one.folder), name: `machine ${name}` },
        ]),
      ),
    };
  }

  async visit(source: MachineSource): Promise<Machine> {
    const machine = checkedMachine(source, {});
    if (this.#seen.size >= MOST_MACHINES)
      throw fault('INVALID_INPUT', { field: source.name, problem: `it names more than ${MOST_MACHINES} machines` });
    await this.#agentsOf(machine, source);
    for (const name of namesOf(machine)) await this.#peer(machine, name, source);
    return machine;
  }

  async #peer(machine: Machine, name: string, source: MachineSource): Promise<void> {
    const peer = await peerSource(machine, name, source, { read: this.#read, machines: this.#machines });
    const registered = this.#machines.get(name);
    if (peer === registered) this.#registered.set(name, registered);
    const place = `${peer.folder} ${JSON.stringify(peer.value)}`;
    if (this.#seen.has(place)) return;
    this.#seen.add(place);
    await this.visit(peer);
  }

  readonly #read: ReadSource = async (path) => {
    const source = await readMachineFile(path);
    this.#files.set(this.#virtual(path), source.value);
    return source;
  };

  /** Below the folder of the machine, or of a registered one. */
  #virtual(path: string): string {
    for (const [name, { folder }] of this.#registered) {
      const below = relative(folder, path);
      if (!below.startsWith('..') && !isAbsolute(below)) return resolve(BUNDLE_ROOT, 'registered', name, below);
    }
    return resolve(BUNDLE_ROOT, 'machine', relative(this.#root.folder, path));
  }

  async #agentsOf(machine: Machine, source: MachineSource): Promise<void> {
    if (typeof machine.profiles === 'string') await this.#read(resolve(source.folder, machine.profiles));
    const agents = Object.values(machine.agents);
    if (agents.length === 0) return;
    await this.#profilesIn(source.folder);
    for (const agent of agents) await this.#agent(agent, source.folder);
  }

  /** Which of its files an agent needs is known when it is loaded: what may be a file is taken along if it is one. */
  async #agent(agent: Value, folder: string): Promise<void> {
    const { ref, config } = isMap(agent) ? agent : { ref: agent, config: undefined };
    const file = typeof ref === 'string' ? await this.#maybe(resolve(folder, ref)) : undefined;
    if (file !== undefined) await this.#profilesIn(file.folder);
    for (const [value, place] of [
      [file?.value, file?.folder],
      [agent, folder],
      [config, folder],
    ] as const) {
      if (!isMap(value) || place === undefined) continue;
      const { prompt, profile } = filesOfAgent(value);
      for (const one of [prompt, profile]) if (one !== undefined) await this.#maybe(resolve(place, one));
    }
  }

  async #profilesIn(folder: string): Promise<void> {
    for (const file of PROFILE_FILES) await this.#maybe(resolve(folder, file));
  }

  #maybe(path: string): Promise<MachineSource | undefined> {
    return this.#read(path).catch(() => undefined);
  }
}

function namesOf({ states, machines }: Machine): ReadonlySet<string> {
  const names = new Set(Object.keys(machines));
  for (const state of states.values()) {
    for (const { name } of state.machines) names.add(name);
    for (const name of state.launch) names.add(name);
  }
  return names;
}
