class BusyError extends Error {
  override readonly name = 'BusyError';
}
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

interface Context {
  readonly card: 'good' | 'busy' | 'bad';
}

/** Hooks are made anew for each run, so this one may count. */
export default class Bank {
  #tries = 0;

  onAction(_state: string, action: string, { card }: Context): object {
    if (action === 'reserve') return { reserved: true };
    if (action === 'release') return { reserved: false };
    this.#tries += 1;
    if (card === 'bad') throw new RefusedError('the bank refused the card');
    if (card === 'busy' && this.#tries < 3) throw new BusyError('the bank is busy');
    return { tries: this.#tries };
  }
}
