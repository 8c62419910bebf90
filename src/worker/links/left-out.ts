import { shellWord } from '../../core/shell-word.ts';
import type { WorkerLog } from '../logs/worker-log.ts';

/** Says once of each handler that the node gives this worker no tasks of it: without a word its tasks would wait for ever. */
export class LeftOut {
  readonly #name: string;
  readonly #log: WorkerLog | undefined;
  #said = '';

  constructor(name: string, log: WorkerLog | undefined) {
    this.#name = name;
    this.#log = log;
  }

  tell(handlers: readonly string[] = []): void {
    const said = handlers.join('\n');
    if (said === this.#said) return;
    this.#said = said;
    if (handlers.length === 0) return;
    this.#log?.warn('the node gives this worker no tasks of handlers that its name was not granted', {
      handlers: handlers.join(', '),
      hint: `"leasehold workers grant ${shellWord(this.#name)} --handler NAME …" names all that it may run, "--any" lets it run whatever it offers.`,
    });
  }
}
