/** A transfer that did not come through. */
export class TransferError extends Error {
  /** `again`: the same may succeed later; `renewed`: with an address that is new; `never`. */
  readonly retry: 'again' | 'renewed' | 'never';

  constructor(message: string, retry: TransferError['retry'], cause?: unknown) {
    super(message, { cause });
    this.name = 'TransferError';
    this.retry = retry;
  }
}
