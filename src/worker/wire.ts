import { WebSocket } from 'ws';
import { EngineError, type ErrorBody, fault, isErrorCode } from '../core/errors.ts';
import type { World } from '../core/world.ts';
import { type Ask, type Connect, MAX_FRAME_BYTES, type Said, WORKER_PATH } from '../protocol/frames.ts';
import type { WorkerLog } from './worker-log.ts';

export interface WireOptions {
  /** Of the node: `http://host:7420`, or with `https`, `ws` or `wss`. */
  readonly url: string;
  readonly world: World;
  readonly log?: WorkerLog | undefined;
  /** What to say first, on every connection anew. */
  readonly connect: () => Omit<Connect, 'type'>;
  readonly onKill: (task: number) => void;
}

/** The longest pause before the n-th try to come back; the pause itself is drawn between 0 and it, so that not all come at once. */
const BACK_MS = [100, 500, 1000, 2000, 5000, 10_000, 15_000];
const PING_MS = 10_000;
const SILENT_MS = 30_000;
/** A frame of more than so many messages would hold up what comes behind it. */
const MOST_PER_FRAME = 500;

interface Asking {
  readonly text: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One connection to a hub that comes back when it breaks. What was asked and not answered is asked again on the next one: all of it
 * can be repeated.
 */
export class Wire {
  readonly #options: WireOptions;
  readonly #asking = new Map<number, Asking>();
  #socket: WebSocket | undefined;
  /** Greeted, and not broken. */
  #open = false;
  #numbers = 0;
  #tries = 0;
  #unsent: string[] = [];
  #closed: Error | undefined;
  #cancelRetry = (): void => {};
  readonly #first = Promise.withResolvers<number>();
  readonly #over = Promise.withResolvers<Error>();

  constructor(options: WireOptions) {
    this.#options = options;
    // Who asks nothing hears of a failure when it does.
    this.#first.promise.catch(() => {});
  }

  /** Comes when the node lets us in no more. */
  get over(): Promise<Error> {
    return this.#over.promise;
  }

  /** Connects; resolves to what the hub says of leases, rejects with why it does not let us in. */
  open(): Promise<number> {
    this.#dial();
    return this.#first.promise;
  }

  ask(ask: Ask): Promise<unknown> {
    return this.asked(ask).answer;
  }

  /** The same with its number, under which it can be spoken of. */
  asked(ask: Ask): { readonly n: number; readonly answer: Promise<unknown> } {
    const n = ++this.#numbers;
    if (this.#closed !== undefined) return { n, answer: Promise.reject(this.#closed) };
    const { type, ...rest } = ask;
    const text = JSON.stringify({ type, n, ...rest });
    const answer = new Promise<unknown>((resolve, reject) => this.#asking.set(n, { text, resolve, reject }));
    if (this.#open && this.#unsent.push(text) === 1) this.#options.world.timers.soon(() => this.#flush());
    return { n, answer };
  }

  /** Nothing is asked again. */
  forget(n: number): void {
    this.#asking.delete(n);
  }

  async close(): Promise<void> {
    this.#end(fault('STORE_CLOSED'));
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === socket.CLOSED) return;
    const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.close(1000);
    const late = setTimeout(() => socket.terminate(), 1000);
    await gone;
    clearTimeout(late);
  }

  #end(error: Error): void {
    this.#closed ??= error;
    this.#open = false;
    this.#cancelRetry();
    this.#first.reject(error);
    for (const { reject } of this.#asking.values()) reject(error);
    this.#asking.clear();
  }

  #dial(): void {
    const socket = new WebSocket(addressOf(this.#options.url), {
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES * 4,
      handshakeTimeout: SILENT_MS,
    });
    this.#socket = socket;
    let trouble: Error | undefined;
    let stop = (): void => {};
    socket.on('error', (error) => {
      trouble = error;
    });
    socket.once('open', () => {
      socket.send(JSON.stringify({ type: 'connect', ...this.#options.connect() }));
      stop = keepAlive(socket);
    });
    socket.on('message', (data: Buffer) => {
      const said = JSON.parse(data.toString()) as Said | readonly Said[];
      for (const one of Array.isArray(said) ? said : [said]) this.#hear(one as Said);
    });
    socket.once('close', (code) => {
      stop();
      this.#open = false;
      if (this.#closed === undefined) this.#comeBack(code, trouble);
    });
  }

  #hear(said: Said): void {
    switch (said.type) {
      case 'connect_ok':
        this.#tries = 0;
        this.#open = true;
        this.#unsent = [...this.#asking.values()].map(({ text }) => text);
        this.#first.resolve(said.leaseMs);
        this.#flush();
        return;
      case 'connect_rejected':
        this.#rejected(errorOf(said.error));
        return;
      case 'kill_task':
        this.#options.onKill(said.task);
        return;
      case 'ok':
        this.#asking.get(said.re)?.resolve(said.value);
        this.#asking.delete(said.re);
        return;
      case 'refused':
        this.#asking.get(said.re)?.reject(errorOf(said.error));
        this.#asking.delete(said.re);
    }
  }

  /** What time can mend is tried again; a secret that is wrong stays wrong. */
  #rejected(error: EngineError): void {
    const again = error.retryable || error.code === 'CONFLICT';
    this.#options.log?.warn('the node does not let this worker in', { error: error.message });
    if (again) return;
    this.#end(error);
    this.#over.resolve(error);
  }

  #comeBack(code: number, trouble: Error | undefined): void {
    const { world, log } = this.#options;
    const most = BACK_MS[Math.min(this.#tries++, BACK_MS.length - 1)] as number;
    if (this.#tries === 2) log?.warn('the node cannot be reached; trying on', { code, error: trouble?.message });
    this.#cancelRetry = world.timers.after(Math.ceil(world.random() * most), () => this.#dial());
  }

  #flush(): void {
    const socket = this.#socket;
    if (!this.#open || socket === undefined) return;
    const texts = this.#unsent;
    this.#unsent = [];
    for (const frame of framesOf(texts)) socket.send(frame);
  }
}

/** As few frames as their bounds allow. */
function* framesOf(texts: readonly string[]): Generator<string> {
  let part: string[] = [];
  let size = 0;
  for (const text of texts) {
    if (part.length > 0 && (part.length >= MOST_PER_FRAME || size + text.length > MAX_FRAME_BYTES / 4)) {
      yield join(part);
      part = [];
      size = 0;
    }
    part.push(text);
    size += text.length;
  }
  if (part.length > 0) yield join(part);
}

const join = (texts: readonly string[]): string => (texts.length === 1 ? (texts[0] as string) : `[${texts.join(',')}]`);

/** A connection of which nothing is heard for too long is broken, whatever the system believes. */
function keepAlive(socket: WebSocket): () => void {
  let heardAt = performance.now();
  const hear = (): void => void (heardAt = performance.now());
  socket.on('pong', hear);
  socket.on('ping', hear);
  socket.on('message', hear);
  const timer = setInterval(() => {
    if (performance.now() - heardAt > SILENT_MS) socket.terminate();
    else socket.ping();
  }, PING_MS);
  return () => clearInterval(timer);
}

function addressOf(url: string): string {
  return url.replace(/^http/, 'ws').replace(/\/+$/, '') + WORKER_PATH;
}

/** An error of the other side, as if it were our own. */
function errorOf({ code, message, hint, details }: ErrorBody): EngineError {
  const own = fault(isErrorCode(code) ? code : 'INTERNAL', details);
  return new EngineError({
    code: own.code,
    status: own.status,
    retryable: own.retryable,
    message,
    hint,
    details,
  });
}
