import { isIPv6, type Server, type Socket } from 'node:net';

/**
 * The default bound of connections for one address. A page has six, a busy client some dozens, an office behind one address
 * hundreds.
 */
export const MOST_PER_ADDRESS = 1000;

/**
 * Closes connections of an address beyond its bound, before a byte of them is read. Idle connections would cost everybody
 * else memory and file descriptors.
 */
export class Connections {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  /** 0 sets no bound. */
  constructor(most: number) {
    this.#most = most;
  }

  guard(server: Pick<Server, 'on'>): void {
    if (this.#most > 0) server.on('connection', (socket: Socket) => this.#take(socket));
  }

  #take(socket: Socket): void {
    const address = placeOf(socket.remoteAddress ?? '');
    const open = this.#open.get(address) ?? 0;
    if (open >= this.#most) {
      socket.destroy();
      return;
    }
    this.#open.set(address, open + 1);
    socket.once('close', () => {
      const left = (this.#open.get(address) ?? 1) - 1;
      if (left === 0) this.#open.delete(address);
      else this.#open.set(address, left);
    });
  }
}

/**
 * The unit that connections are counted by: an IPv4 address, or the /64 network of an IPv6 address, whose owner has 2^64 of
 * them.
 */
export function placeOf(address: string): string {
  if (!isIPv6(address)) return address;
  if (address.toLowerCase().startsWith('::ffff:') && address.includes('.')) return address.slice(7);
  const [head = '', tail] = (address.split('%', 1)[0] as string).split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  const groups = [...front, ...Array.from({ length: zeros }, () => '0'), ...back];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
