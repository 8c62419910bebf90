import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import {
  type Answer,
  type Listening,
  launcherOf,
  listening,
  problemsOf,
  refusalOf,
  requestOf,
  TICKET,
} from '../../../test/support/fleet/launching.ts';
import type { ResolvedAddress } from '../../worker/handlers/http/http-exchange.ts';
import type { Launched, LaunchRequest } from '../launcher.ts';
import { launchName } from './launch-name.ts';
import { type WebhookOptions, webhookKind } from './webhook.ts';

const KEY = 'canary-key';
const SECRETS: Readonly<Record<string, string>> = {
  HOOK_KEY: KEY,
  HOOK_TOKEN: 'canary-token',
  BOTH_KEYS: ' old-key\nnew-key ',
  EMPTY: '',
};
const secret = (name: string): string | undefined => SECRETS[name];

const serve = (t: TestContext, answer: Answer): Promise<Listening> =>
  listening(
    t,
    createServer((request, response) => void answer(request, response)),
  );

const textOf = async (request: IncomingMessage): Promise<string> =>
  (await request.setEncoding('utf8').toArray()).join('');

interface Tried {
  readonly settings?: object;
  readonly options?: Partial<WebhookOptions>;
  readonly request?: Partial<LaunchRequest>;
}

function launchAt(port: number, { settings = {}, options = {}, request = {} }: Tried = {}): Promise<Launched> {
  const kind = webhookKind({ allowHttp: [`127.0.0.1:${port}`], ...options });
  const all = { url: `http://127.0.0.1:${port}/launch`, sign: 'HOOK_KEY', ...settings };
  return launcherOf(kind, all, { secret }).launch(requestOf(request));
}

describe('a request for a worker', () => {
  test('it says all that a receiver needs, and proves who sent it and when', async (t) => {
    const seen: { headers: IncomingMessage['headers']; body: string }[] = [];
    const peer = await serve(t, async (request, response) => {
      seen.push({ headers: request.headers, body: await textOf(request) });
      response.statusCode = 202;
      response.end('{"started":"arn:aws:ecs:task/4f"}');
    });
    const settings = {
      authorize: 'HOOK_TOKEN',
      headers: { 'x-team': 'blue' },
      secret_headers: { 'x-functions-key': 'HOOK_TOKEN' },
    };
    assert.deepEqual(await launchAt(peer.port, { settings }), { started: 'arn:aws:ecs:task/4f' });
    const [{ headers, body } = { headers: {}, body: '' }] = seen;
    const { args, env } = requestOf();
    assert.deepEqual(JSON.parse(body), {
      event: 'launch',
      pool: 'papers',
      name: launchName(requestOf()),
      ticket_id: 'tk_1',
      ticket: TICKET,
      args,
      env,
      expires_at: '2026-11-19T12:00:00.000Z',
    });
    const { 'x-leasehold-id': id, 'x-leasehold-signature': signature } = headers;
    assert.equal(id, launchName(requestOf()));
    const hmac = createHmac('sha256', KEY)
      .update(`${String(id)}.1614265330.${body}`)
      .digest('hex');
    assert.equal(signature, `t=1614265330,v1=${hmac}`);
    assert.deepEqual([headers.authorization, headers['x-team']], ['Bearer canary-token', 'blue']);
    assert.equal(headers['x-functions-key'], 'canary-token');
  });

  test('the same ticket has the same id, so that a receiver can start one worker for it', async (t) => {
    const ids: unknown[] = [];
    const peer = await serve(t, (request, response) => {
      ids.push(request.headers['x-leasehold-id']);
      response.end();
    });
    await launchAt(peer.port);
    await launchAt(peer.port);
    await launchAt(peer.port, { request: { ticketId: 'tk_2' } });
    assert.equal(new Set(ids).size, 2);
  });

  test('an answer that names nothing is as good', async (t) => {
    const answers = ['', 'ok', '{"started":5}', '{"started":""}', '[]', 'null'];
    const peer = await serve(t, (_request, response) => response.end(answers.shift()));
    while (answers.length > 0) assert.deepEqual(await launchAt(peer.port), { started: `by 127.0.0.1:${peer.port}` });
  });

  test('a name that a receiver makes up is one line of a bounded length', async (t) => {
    const peer = await serve(t, (_request, response) =>
      response.end(JSON.stringify({ started: `a\u001b[2J\n${TICKET} ${'x'.repeat(999)}` })),
    );
    const { started } = await launchAt(peer.port);
    assert.ok(started.startsWith('a [2J (hidden) x') && started.length <= 200, started);
  });
});

describe('a receiver that behaves badly', () => {
  test('one that never answers is left at the deadline, and its connection is closed', async (t) => {
    const asked = Promise.withResolvers<void>();
    const peer = await serve(t, () => asked.resolve());
    const stop = new AbortController();
    const launched = assert.rejects(launchAt(peer.port, { request: { signal: stop.signal } }), /too late/);
    await asked.promise;
    stop.abort(new Error('too late'));
    await launched;
    await peer.left();
  });

  test('one that never ends its answer is left at the deadline', async (t) => {
    const begun = Promise.withResolvers<void>();
    const peer = await serve(t, (_request, response) => {
      response.write('{"started":', () => begun.resolve());
    });
    const stop = new AbortController();
    const launched = assert.rejects(launchAt(peer.port, { request: { signal: stop.signal } }), /too late/);
    await begun.promise;
    stop.abort(new Error('too late'));
    await launched;
    await peer.left();
  });

  test('of an answer without end 64 KiB are read', async (t) => {
    const peer = await serve(t, async (_request, response) => {
      response.on('error', () => {});
      while (!response.destroyed)
        if (!response.write('x'.repeat(10_000))) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    });
    assert.deepEqual(await launchAt(peer.port), { started: `by 127.0.0.1:${peer.port}` });
    await peer.left();
  });

  test('one that refuses is quoted, without the ticket', async (t) => {
    const peer = await serve(t, (_request, response) => {
      response.statusCode = 503;
      response.end(`no room\nfor ${TICKET}`);
    });
    const { code, message } = await refusalOf(launchAt(peer.port));
    assert.equal(code, 'HTTP_503');
    assert.equal(message, `127.0.0.1:${peer.port} answered with status 503: no room for (hidden)`);
  });

  test('one that sends us elsewhere is not followed', async (t) => {
    const inside = await serve(t, (_request, response) => response.end());
    const peer = await serve(t, (_request, response) => {
      response.writeHead(307, { Location: `http://127.0.0.1:${inside.port}/` }).end();
    });
    const options = { allowHttp: [`127.0.0.1:${peer.port}`, `127.0.0.1:${inside.port}`] };
    const { code } = await refusalOf(launchAt(peer.port, { options }));
    assert.equal(code, 'REDIRECT');
    assert.equal(inside.connections(), 0);
  });

  test('one that hangs up, or is not there, is an error that names it', async (t) => {
    const peer = await serve(t, (request) => request.socket.destroy());
    const { code, message } = await refusalOf(launchAt(peer.port));
    assert.equal(code, 'UNREACHABLE');
    assert.ok(message.startsWith(`127.0.0.1:${peer.port} did not answer`), message);
  });
});

describe('where a request may go', () => {
  const counted = (...answers: readonly string[][]) => {
    let asked = 0;
    const resolve = async (): Promise<readonly ResolvedAddress[]> =>
      (answers[asked++] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    return { resolve, asked: () => asked };
  };

  test('private, loopback and metadata addresses are refused unless they were allowed', async (t) => {
    const peer = await serve(t, (_request, response) => response.end());
    const urls = [
      `http://127.0.0.1/`,
      'https://10.0.0.8/',
      'https://169.254.169.254/',
      'https://[::1]/',
      'https://[::ffff:127.0.0.1]/',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://0.0.0.0/',
    ];
    for (const url of urls) {
      const { code } = await refusalOf(launchAt(peer.port, { settings: { url }, options: { allowHttp: [] } }));
      assert.equal(code, 'REFUSED', url);
    }
    const { code } = await refusalOf(launchAt(peer.port, { options: { allowHttp: [] } }));
    assert.equal(code, 'REFUSED');
    assert.equal(peer.connections(), 0);
  });

  test('a name is resolved once, and one bad address among good ones is enough', async () => {
    const flips = counted(['93.184.216.34', '127.0.0.1'], ['127.0.0.1']);
    const settings = { url: 'https://flips.example/' };
    const { code } = await refusalOf(launchAt(1, { settings, options: { allowHttp: [], resolve: flips.resolve } }));
    assert.equal(code, 'REFUSED');
    assert.equal(flips.asked(), 1);
  });

  test('the connection goes to the address that was checked', async (t) => {
    const peer = await serve(t, (request, response) => response.end(JSON.stringify({ started: request.headers.host })));
    const names = counted(['127.0.0.1'], ['10.9.9.9']);
    const settings = { url: `http://hooks.internal:${peer.port}/` };
    const { started } = await launchAt(peer.port, { settings, options: { resolve: names.resolve } });
    assert.equal(started, `hooks.internal:${peer.port}`);
    assert.equal(names.asked(), 1);
  });

  test('without TLS the ticket does not leave for the Internet', async () => {
    const settings = { url: 'http://hooks.example/' };
    const { resolve } = counted(['93.184.216.34']);
    const { code, message } = await refusalOf(launchAt(1, { settings, options: { allowHttp: [], resolve } }));
    assert.equal(code, 'REFUSED');
    assert.match(message, /https/);
  });

  test('a name that hangs is left at the deadline', async () => {
    const stop = new AbortController();
    const asked = Promise.withResolvers<void>();
    const resolve = (): Promise<never> => {
      asked.resolve();
      return new Promise(() => {});
    };
    const settings = { url: 'https://hangs.example/' };
    const launched = assert.rejects(
      launchAt(1, { settings, options: { allowHttp: [], resolve }, request: { signal: stop.signal } }),
      /too late/,
    );
    await asked.promise;
    stop.abort(new Error('too late'));
    await launched;
  });
});

describe('secrets', () => {
  test('without its key nothing is sent', async (t) => {
    const peer = await serve(t, (_request, response) => response.end());
    for (const settings of [
      { sign: 'NONE' },
      { sign: 'EMPTY' },
      { authorize: 'NONE' },
      { secret_headers: { a: 'NONE' } },
    ]) {
      const { code, message } = await refusalOf(launchAt(peer.port, { settings }));
      assert.equal(code, 'NO_SECRET');
      assert.match(message, /NONE|EMPTY/);
    }
    assert.equal(peer.connections(), 0);
  });

  test('while keys are exchanged a request is signed with both', async (t) => {
    let seen: { readonly headers: IncomingMessage['headers']; readonly body: string } | undefined;
    const peer = await serve(t, async (request, response) => {
      seen = { headers: request.headers, body: await textOf(request) };
      response.end();
    });
    await launchAt(peer.port, { settings: { sign: 'BOTH_KEYS' } });
    const { headers = {}, body } = seen ?? {};
    const hmac = (key: string): string =>
      createHmac('sha256', key)
        .update(`${String(headers['x-leasehold-id'])}.1614265330.${body}`)
        .digest('hex');
    assert.equal(headers['x-leasehold-signature'], `t=1614265330,v1=${hmac('old-key')},v1=${hmac('new-key')}`);
  });
});

test('every problem of the settings is listed with its place', () => {
  const problems = problemsOf(webhookKind({ allowHttp: [] }), {
    url: 'ftp://a:b@c/',
    headers: { 'X-Leasehold-Id': 'mine', 'X-Api-Key': 'canary', 'Content-Length': '1', ok: 'a\nb' },
    authorize: 'a b',
    secret_headers: { 'x-key': 'canary key', Authorization: 'A' },
    body: {},
  });
  assert.deepEqual(
    problems.map((problem) => problem.split(' ')[0]),
    [
      'launcher.body',
      'launcher.url',
      'launcher.sign',
      'launcher.authorize',
      'launcher.headers.X-Leasehold-Id',
      'launcher.headers.X-Api-Key',
      'launcher.headers.Content-Length',
      'launcher.headers.ok',
      'launcher.secret_headers.x-key',
      'launcher.secret_headers.Authorization',
    ],
  );
  assert.ok(!problems.join().includes('canary'));
  const query = { url: 'https://f.example/launch?code=canary', sign: 'KEY' };
  assert.match(problemsOf(webhookKind({ allowHttp: [] }), query).join(), /^launcher\.url must not have a secret/);
});
