import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type ServeOptions, type Service, serve } from '../../src/app/serve.ts';
import { newSecret } from '../../src/operate/secrets.ts';
import { ROUTES, type RouteName } from '../../src/protocol/routes.ts';
import { tempFolder } from '../../src/store/conformance/kit/temp-folder.ts';

/** What came over the wire: the tests say what it should be. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Wire = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed where it is JSON. */
  readonly body: Wire;
}

export interface Ask {
  readonly method?: string;
  readonly body?: unknown;
  /** Default: the admin token; null: none. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A node with its server, on a file of its own, without a worker. */
export class NodeScene {
  readonly service: Service;
  readonly admin: string;

  constructor(service: Service, admin: string) {
    this.service = service;
    this.admin = admin;
  }

  get engine(): Service['app']['engine'] {
    return this.service.app.engine;
  }

  url(path: string): string {
    return this.service.address + path;
  }

  headers({ token = this.admin, headers = {}, body }: Ask): Record<string, string> {
    return {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    };
  }

  async ask(path: string, ask: Ask = {}): Promise<Answer> {
    const { method = ask.body === undefined ? 'GET' : 'POST', body } = ask;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(this.url(path), {
      method,
      headers: this.headers(ask),
      ...(body === undefined ? {} : { body: text }),
    });
    const answer = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: response.status,
      headers: response.headers,
      body: json && answer !== '' ? JSON.parse(answer) : answer,
    };
  }

  /** What a route answers, which must have the form that the table says. */
  async call(name: RouteName, path: string, ask: Ask = {}): Promise<Answer['body']> {
    const route = ROUTES[name];
    const answer = await this.ask(path, { method: route.method, ...ask });
    assert.equal(answer.status, 'status' in route ? route.status : 200, JSON.stringify(answer.body));
    const { error } = route.answer.safeParse(answer.body);
    assert.equal(error, undefined, `${name} answered ${JSON.stringify(answer.body)}: ${String(error)}`);
    return answer.body;
  }

  /** A token of a role, made over the wire. */
  async token(
    role: 'admin' | 'operator' | 'read',
    ttl?: string,
  ): Promise<{ readonly id: number; readonly token: string }> {
    return this.call('createToken', '/api/v1/tokens', {
      body: { name: `a ${role}`, role, ...(ttl === undefined ? {} : { ttl }) },
    });
  }
}

/** All nodes of the tests share it, so that several can be on one store. */
export const TEST_SECRET = { place: 'the test', read: (): string => `lh_cls_${'t'.repeat(43)}` };

let scenes = 0;

export async function nodeScene(t: TestContext, options: Partial<ServeOptions> = {}): Promise<NodeScene> {
  const admin = newSecret('admin');
  const service = await serve({
    store: `sqlite:${join(tempFolder('node-scene'), `${++scenes}.db`)}`,
    host: '127.0.0.1',
    port: 0,
    version: '0.0.0-test',
    adminToken: () => admin,
    secret: TEST_SECRET,
    ...options,
  });
  t.after(() => service.close({ force: true }));
  return new NodeScene(service, admin);
}

/** The messages of an event stream as they come. */
export async function* messagesOf(response: Response): AsyncGenerator<{ id?: string; event?: string; data: Wire }> {
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      const fields = Object.fromEntries(
        block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      if (fields['data'] === undefined) continue;
      const { id, event, data } = fields;
      yield { ...(id === undefined ? {} : { id }), ...(event === undefined ? {} : { event }), data: JSON.parse(data) };
    }
  }
}
