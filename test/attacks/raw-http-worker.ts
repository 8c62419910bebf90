/** The same as a raw worker, over plain HTTP: it says what it is told, and shows what it hears. */
import assert from 'node:assert/strict';
import type { ErrorBody } from '../../src/core/errors.ts';
import type { LeaseProof } from '../../src/protocol/frames.ts';
import type { NodeScene, Wire } from '../support/node-scene.ts';
import { type Greeting, greeting } from '../support/raw-worker.ts';

export class RawHttpWorker {
  readonly #node: NodeScene;
  readonly #worker: string;
  readonly #session: string;
  #numbers = 0;

  constructor(node: NodeScene, worker: string, session: string) {
    this.#node = node;
    this.#worker = worker;
    this.#session = session;
  }

  /** Comes again until it is let in: the place of a name is free a moment after its connection has ended. */
  static async join(
    node: NodeScene,
    { secret, ...given }: Greeting & { readonly secret: string },
  ): Promise<RawHttpWorker> {
    for (;;) {
      const { body } = await node.ask('/workers/join', { token: secret, body: greeting(given) });
      if (body.session !== undefined) return new RawHttpWorker(node, body.worker, body.session);
      assert.equal(body.error.code, 'CONFLICT', JSON.stringify(body));
    }
  }

  /** What was answered, or the test fails. */
  async told(type: string, fields: object = {}): Promise<Wire> {
    const said = await this.#ask(type, fields);
    assert.equal(said.type, 'ok', JSON.stringify(said));
    return said.value;
  }

  /** Why it was refused. */
  async denied(type: string, fields: object = {}): Promise<ErrorBody> {
    const said = await this.#ask(type, fields);
    assert.equal(said.type, 'refused', JSON.stringify(said));
    return said.error;
  }

  /** It says that it holds nothing, so what it was granted before goes back. */
  async claim(max = 1, holding: readonly LeaseProof[] = []): Promise<readonly Wire[]> {
    const body = { n: ++this.#numbers, max, waitMs: 0, holding };
    return (await this.#post('tasks', body)) || [];
  }

  async hangUp(): Promise<void> {
    await this.told('heartbeat', { state: 'offline' });
  }

  async #ask(type: string, fields: object): Promise<Wire> {
    const { answers } = await this.#post('ask', { asked: [{ type, n: ++this.#numbers, ...fields }] });
    return answers[0];
  }

  async #post(call: string, body: object): Promise<Wire> {
    const headers = { 'x-session-token': this.#session };
    const answer = await this.#node.ask(`/workers/${this.#worker}/${call}`, { token: null, body, headers });
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  }
}
