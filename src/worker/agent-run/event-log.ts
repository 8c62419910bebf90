/**
 * What an agent says while it works, as lines of the log of its task and as its progress. Tokens come by the thousand: they are put together to
 * lines, and a line that nobody ends is written after a moment. What is beyond the bounds is counted, and told at the end. Secrets are hidden
 * before anything is cut: no half of one is on a line of its own.
 */
import type { Timers } from '../../core/world.ts';
import type { Secrets } from '../../flow/agent/secrets.ts';
import { isList, isMap, type Value, type ValueMap } from '../../flow/expression/values.ts';

export interface EventLogDeps {
  readonly timers: Timers;
  readonly secrets: Secrets;
  readonly log: (line: string) => void;
  readonly progress: (value: unknown) => void;
}

const LONGEST_LINE = 2_000;
const MOST_LINES = 20_000;
const MOST_LENGTH = 4 * 1024 * 1024;
const QUOTED = 300;
const WAIT_MS = 500;
/** Others see where it stands, not each step there. */
const PROGRESS_MS = 1_000;

export class EventLog {
  readonly #deps: EventLogDeps;
  #text = '';
  #lines = 0;
  #length = 0;
  #dropped = 0;
  #isOver = false;
  #cancelWrite: (() => void) | undefined;
  #cancelProgress: (() => void) | undefined;
  #isNews = false;
  #iterations = 0;
  #calls = 0;
  #tokens = 0;
  #status = '';

  constructor(deps: EventLogDeps) {
    this.#deps = deps;
  }

  /** Whatever an adapter tells: of an endpoint, a gateway, a program, a function. Never throws: what it says may be anything. */
  readonly take = (event: ValueMap): void => {
    if (this.#isOver || !isMap(event)) return;
    const data = isMap(event['data']) ? event['data'] : event;
    switch (event['type']) {
      case 'chunk':
        return this.#words(tokensIn(event['chunk']));
      case 'text':
        return this.#words(firstText(data, 'text', 'content', 'message'));
      case 'tool_call':
        this.#calls++;
        this.#say(`→ ${firstText(data, 'name')} ${this.#short(data['input'])}`);
        return this.#news();
      case 'tool_result':
        return this.#say(`← ${data['is_error'] === true ? 'error: ' : ''}${this.#short(data['result'])}`);
      case 'tool_abandoned':
        return this.#say(`abandoned: "${firstText(data, 'name')}" was under way when the last attempt ended`);
      case 'status':
        this.#status = this.#hidden(firstText(data, 'message', 'status', 'state')).slice(0, QUOTED);
        if (this.#status !== '') this.#say(`· ${this.#status}`);
        return this.#news();
      case 'resumed':
        return this.#say(`goes on: ${firstText(data, 'message')}`);
      case 'error':
        return this.#say(`error: ${firstText(data, 'message', 'error', 'detail')}`);
      case 'work_product':
        return this.#say(`made ${this.#short(data['path'] ?? data['name'] ?? data['filename'])}`);
      case 'iteration_end':
        return this.#iteration(data);
      default:
        return undefined;
    }
  };

  get counts(): { readonly iterations: number; readonly toolCalls: number } {
    return { iterations: this.#iterations, toolCalls: this.#calls };
  }

  /** Writes what is still open. What comes after it is late. */
  end(): void {
    this.#flush();
    if (this.#isNews) this.#tellProgress();
    this.#cancelProgress?.();
    if (this.#dropped > 0) this.#deps.log(`${this.#dropped} more lines of the agent are not kept`);
    this.#isOver = true;
  }

  #iteration(data: ValueMap): void {
    const { iteration, tokens_used: tokens } = data;
    this.#iterations = Number.isSafeInteger(iteration) ? (iteration as number) : this.#iterations + 1;
    if (typeof tokens === 'number' && tokens > 0 && Number.isFinite(tokens)) this.#tokens += tokens;
    this.#news();
  }

  #words(words: string): void {
    if (words === '') return;
    this.#text = this.#hidden(this.#text + words.slice(0, MOST_LENGTH));
    const lines = this.#text.split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
    // What may be the beginning of a secret waits for the rest of it.
    const begun = this.#deps.secrets.begunIn(this.#text);
    while (this.#text.length - begun >= LONGEST_LINE) {
      this.#line(this.#text.slice(0, LONGEST_LINE));
      this.#text = this.#text.slice(LONGEST_LINE);
    }
    if (this.#text === '') return;
    this.#cancelWrite ??= this.#deps.timers.after(WAIT_MS, () => this.#flush(this.#deps.secrets.begunIn(this.#text)));
  }

  #say(line: string): void {
    this.#flush();
    this.#line(this.#hidden(line));
  }

  /** `kept`: so much of it waits for what comes next. */
  #flush(kept = 0): void {
    this.#cancelWrite?.();
    this.#cancelWrite = undefined;
    const end = this.#text.length - kept;
    const text = this.#text.slice(0, end);
    this.#text = this.#text.slice(end);
    if (text !== '') this.#line(text);
  }

  #hidden = (text: string): string => this.#deps.secrets.hide(text);

  #short(value: Value): string {
    const text = this.#hidden(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
    const line = text.slice(0, QUOTED).toWellFormed().replace(/\s+/g, ' ');
    return text.length > QUOTED ? `${line} …` : line;
  }

  #line(line: string): void {
    if (this.#lines >= MOST_LINES || this.#length >= MOST_LENGTH) {
      this.#dropped++;
      return;
    }
    this.#lines++;
    const kept = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE).toWellFormed()} …` : line;
    this.#length += kept.length;
    this.#deps.log(kept);
  }

  #news(): void {
    this.#isNews = true;
    if (this.#cancelProgress !== undefined) return;
    this.#tellProgress();
    this.#cancelProgress = this.#deps.timers.after(PROGRESS_MS, () => {
      this.#cancelProgress = undefined;
      if (this.#isNews) this.#news();
    });
  }

  #tellProgress(): void {
    this.#isNews = false;
    this.#deps.progress({
      iterations: this.#iterations,
      tool_calls: this.#calls,
      ...(this.#tokens === 0 ? {} : { tokens: this.#tokens }),
      ...(this.#status === '' ? {} : { status: this.#status }),
    });
  }
}

/** The text of a piece of a stream, as endpoints send it. */
function tokensIn(chunk: Value): string {
  const choice = isMap(chunk) && isList(chunk['choices']) ? chunk['choices'][0] : undefined;
  const delta = isMap(choice) ? choice['delta'] : undefined;
  return isMap(delta) && typeof delta['content'] === 'string' ? delta['content'] : '';
}

function firstText(data: ValueMap, ...names: readonly string[]): string {
  const found = names.map((name) => data[name]).find((one) => typeof one === 'string');
  return typeof found === 'string' ? found : '';
}
