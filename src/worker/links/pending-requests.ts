import { type EngineError, fault } from '../../core/errors.ts';
import type { NodeFrame } from '../../protocol/answers.ts';
import { exceeds, MAX_FRAME_BYTES, type NewRequest } from '../../protocol/frames.ts';
import { wireError } from './wire-error.ts';

export interface PendingRequest {
  readonly text: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Requests that the node has not answered, by their numbers and in their order. Each can be sent again. */
export class PendingRequests {
  readonly #pending = new Map<number, PendingRequest>();

  get size(): number {
    return this.#pending.size;
  }

  entries(): IterableIterator<[number, PendingRequest]> {
    return this.#pending.entries();
  }

  add(n: number, text: string): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => this.#pending.set(n, { text, resolve, reject }));
  }

  texts(): string[] {
    return [...this.#pending.values()].map(({ text }) => text);
  }

  /** False: no such request waits. */
  answer(message: NodeFrame & { readonly type: 'ok' | 'refused' }): boolean {
    const request = this.#pending.get(message.re);
    this.#pending.delete(message.re);
    if (message.type === 'ok') request?.resolve(message.value);
    else request?.reject(wireError(message.error));
    return request !== undefined;
  }

  refuse(n: number, error: Error): void {
    const request = this.#pending.get(n);
    this.#pending.delete(n);
    request?.reject(error);
  }

  refuseAll(error: Error): void {
    for (const n of this.#pending.keys()) this.refuse(n, error);
  }
}

/** The request as it is sent under a number; undefined where no frame holds it. */
export function requestText(n: number, { type, ...rest }: NewRequest): string | undefined {
  const text = JSON.stringify({ type, n, ...rest });
  return exceeds(text, MAX_FRAME_BYTES) ? undefined : text;
}

export function tooLarge({ type }: NewRequest): EngineError {
  return fault('TOO_LARGE', { field: type, maxBytes: MAX_FRAME_BYTES });
}
