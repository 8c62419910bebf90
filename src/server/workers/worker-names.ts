import { fault } from '../../core/errors.ts';

/** Whoever speaks under a name at this node: a connection, or a session of calls. */
export interface NameHolder {
  /** Name and incarnation. */
  readonly holder: string;
  /** Nothing is heard from it any more, so that another may take its name. */
  isSilent: () => boolean;
  /** Another connection has taken its place. */
  readonly replaced: () => void;
}

/** One name has one holder, over every link. The same incarnation replaces its own; another one waits until the name is free. */
export class WorkerNames {
  readonly #holders = new Map<string, NameHolder>();

  take(name: string, by: NameHolder): void {
    const before = this.#holders.get(name);
    if (before === by) return;
    if (before !== undefined && before.holder !== by.holder && !before.isSilent()) {
      throw fault(
        'CONFLICT',
        { problem: `a worker named ${name} is connected already` },
        { hint: 'Stop it, or give this one a name and a secret of its own.' },
      );
    }
    this.#holders.set(name, by);
    before?.replaced();
  }

  /** False: the name has another holder by now. */
  release(name: string, by: NameHolder): boolean {
    return this.#holders.get(name) === by && this.#holders.delete(name);
  }
}
