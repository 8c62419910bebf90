/** The bench's hold on the node of a scene. */
import { readPlace, writePlace } from '../contenders/hub/place.ts';
import { Helper } from './line.ts';
import type { NodeArgs, NodeVerbs, Sample } from './node-child.ts';

const ADMIN = 'the-token-of-a-benchmark';
/** The collector is called before memory is looked at. */
const FLAGS = ['--expose-gc'];

export class NodeProcess {
  readonly address: string;
  readonly admin = ADMIN;
  readonly #helper: Helper<NodeVerbs>;

  private constructor(helper: Helper<NodeVerbs>, address: string) {
    this.#helper = helper;
    this.address = address;
  }

  /** On the store of a place, at a port of its own or at that of its predecessor. */
  static async start(place: string, before?: NodeProcess): Promise<NodeProcess> {
    const port = before === undefined ? 0 : Number(new URL(before.address).port);
    const args: NodeArgs = { store: readPlace(place).store, admin: ADMIN, port };
    const helper = new Helper<NodeVerbs>('./node-child.ts', args, FLAGS);
    return new NodeProcess(helper, await helper.ask('address'));
  }

  get pid(): number {
    return this.#helper.pid;
  }

  /** The place, with this node in it. */
  in(place: string): string {
    return writePlace({ ...readPlace(place), node: { address: this.address, admin: this.admin } });
  }

  sample({ settled = false } = {}): Promise<Sample> {
    return this.#helper.ask('sample', { settled });
  }

  get ask(): Helper<NodeVerbs>['ask'] {
    return this.#helper.ask.bind(this.#helper);
  }

  kill(): Promise<void> {
    return this.#helper.kill();
  }
}
