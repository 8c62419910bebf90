import type { Client } from '../../client/client.ts';
import { isEngineError } from '../../core/errors.ts';
import type { Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { perform, refusal } from './act.ts';
import { followLog, pageOf } from './details.ts';
import { reduceKey } from './key-reducer.ts';
import { keysOf } from './keys.ts';
import { listsOf } from './lists.ts';
import { NodePoller } from './node-poller.ts';
import { diffFrames } from './render/frame-diff.ts';
import type { Away } from './render/header.ts';
import { type Frame, renderFrame } from './render/render-frame.ts';
import { FIRST, type Intent, type Open, type State } from './state.ts';
import type { Terminal } from './terminal.ts';
import type { Detail, TopViewModel } from './view-model.ts';

export interface TopOptions {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly out: Pick<Out, 'paint' | 'colours'>;
  readonly intervalMs: number;
  /** Who acts, for histories. */
  readonly by: string;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** The clock and the countdowns go on between looks. */
const CLOCK_MS = 1000;
/** A log that pours is drawn this often at most. */
const POUR_MS = 50;

/**
 * The thin part: asks the node, draws what the model makes of it, and does what keys ask for. Every change ends in `#draw`, which writes
 * what differs.
 *
 * looking ──q, Ctrl-C, a signal, the end of the terminal──> over; whatever fails in between is shown and looked at again
 */
export class Top {
  readonly #options: TopOptions;
  readonly #poller: NodePoller;
  readonly #over = new AbortController();
  readonly #quit = Promise.withResolvers<void>();
  #state: State = FIRST;
  #model: TopViewModel;
  #away: Away | undefined;
  #detail: Detail | undefined;
  /** Ends what is asked for the one that is open. */
  #opened: AbortController | undefined;
  #frame: Frame | undefined;
  #shown: readonly string[] | undefined;
  #pouring: NodeJS.Timeout | undefined;
  #asking = false;

  private constructor(options: TopOptions, poller: NodePoller, model: TopViewModel) {
    this.#options = options;
    this.#poller = poller;
    this.#model = model;
  }

  /** Until somebody quits. A node that is not there, or lets nobody in, is an error as in any other command. */
  static async run(options: TopOptions): Promise<void> {
    const poller = new NodePoller(options.client);
    const top = new Top(options, poller, await poller.poll(options.signal));
    await top.#run();
  }

  async #run(): Promise<void> {
    const { terminal, intervalMs, signal } = this.#options;
    const quit = (): void => this.#quit.resolve();
    if (signal.aborted) return;
    signal.addEventListener('abort', quit, { once: true });
    terminal.enter();
    const unlisten = terminal.listen({
      typed: this.#typed,
      resized: () => this.#renderAnew(),
      resumed: () => {
        terminal.enter();
        this.#renderAnew();
      },
      ended: quit,
    });
    const looks = setInterval(() => void this.#refresh(), intervalMs);
    const clock = setInterval(() => this.#render(), CLOCK_MS);
    try {
      this.#render();
      await this.#quit.promise;
    } finally {
      clearInterval(looks);
      clearInterval(clock);
      clearTimeout(this.#pouring);
      signal.removeEventListener('abort', quit);
      unlisten();
      this.#opened?.abort();
      this.#over.abort();
      terminal.leave();
    }
  }

  readonly #typed = (text: string): void => {
    for (const key of keysOf(text)) {
      const { open } = this.#state;
      const lists = listsOf(this.#model, this.#state.filter);
      const { page = 1, furthest = 0 } = this.#frame ?? {};
      const { state, intent } = reduceKey(this.#state, key, { lists, page, furthest });
      this.#state = state;
      if (intent !== undefined) this.#do(intent);
      if (open?.panel !== state.open?.panel || open?.name !== state.open?.name) this.#openNow(state.open);
    }
    this.#render();
  };

  #do(intent: Intent): void {
    switch (intent.kind) {
      case 'quit':
        this.#quit.resolve();
        return;
      case 'suspend':
        this.#options.terminal.suspend();
        return;
      case 'redraw':
        this.#shown = undefined;
        return;
      case 'act': {
        const { client, by } = this.#options;
        void perform(client, intent.act, by).then((status) => {
          this.#state = { ...this.#state, status };
          this.#render();
          return this.#refresh();
        });
      }
    }
  }

  /** One at a time: a node that is slow is not asked more the slower it is. */
  async #refresh(): Promise<void> {
    if (this.#asking || this.#over.signal.aborted) return;
    this.#asking = true;
    try {
      const [model] = await Promise.all([this.#poller.poll(this.#over.signal), this.#refreshDetail()]);
      this.#model = model;
      this.#away = undefined;
    } catch (error) {
      if (this.#over.signal.aborted) return;
      const since = this.#away?.since ?? Date.now() + this.#model.skewMs;
      this.#away = { since, problem: isEngineError(error) ? error.message : refusal(error) };
    } finally {
      this.#asking = false;
    }
    this.#render();
  }

  #openNow(open: Open | undefined): void {
    this.#opened?.abort();
    this.#opened = undefined;
    this.#detail = undefined;
    if (open === undefined) return;
    const opened = new AbortController();
    this.#opened = opened;
    void this.#refreshDetail().finally(() => this.#render());
    if (open.panel !== 'tasks') return;
    const tell = (log: Detail['log']): void => {
      if (opened.signal.aborted) return;
      this.#detail = { page: this.#detail?.page ?? (() => []), log };
      this.#pouring ??= setTimeout(() => {
        this.#pouring = undefined;
        this.#render();
      }, POUR_MS);
    };
    // What keeps the log away keeps the page away as well, and is said there.
    followLog(this.#options.client, open.name, tell, opened.signal).catch(() => {});
  }

  /** What is refused of the one that is open is said, and keeps nobody from the rest. */
  async #refreshDetail(): Promise<void> {
    const { open } = this.#state;
    const opened = this.#opened;
    if (open === undefined || opened === undefined) return;
    const { client, out } = this.#options;
    let page: Detail['page'];
    try {
      page = await pageOf(client, open, out.paint, opened.signal);
    } catch (error) {
      if (opened.signal.aborted || (isEngineError(error) && error.retryable)) return;
      page = this.#detail?.page ?? (() => [`  ${safeLine(refusal(error))}`]);
      this.#state = { ...this.#state, status: { tone: 'bad', text: refusal(error) } };
    }
    if (opened.signal.aborted) return;
    this.#detail = { page, log: open.panel === 'tasks' ? (this.#detail?.log ?? []) : undefined };
  }

  #renderAnew(): void {
    this.#shown = undefined;
    this.#render();
  }

  #render(): void {
    if (this.#over.signal.aborted) return;
    const { terminal, out } = this.#options;
    const size = terminal.size();
    this.#frame = renderFrame({
      state: this.#state,
      model: this.#model,
      lists: listsOf(this.#model, this.#state.filter),
      detail: this.#detail,
      away: this.#away,
      size,
      paint: out.paint,
      colours: out.colours,
      now: Date.now() + this.#model.skewMs,
    });
    terminal.write(diffFrames(this.#shown, this.#frame.lines, size.columns));
    this.#shown = this.#frame.lines;
  }
}
