import type { Message } from '../events/sse.ts';

/** Messages until it ends, or until the signal comes. */
export class EventStream {
  readonly messages: (signal: AbortSignal) => AsyncIterable<Message>;

  constructor(messages: (signal: AbortSignal) => AsyncIterable<Message>) {
    this.messages = messages;
  }
}

/** An answer in somebody else's form, with its own status and headers. */
export class RawResponse {
  readonly response: Response;

  constructor(response: Response) {
    this.response = response;
  }
}

/** An answer that is JSON text already, with the status that goes with it. */
export class JsonText {
  readonly text: string;
  readonly status: number;

  constructor(text: string, status = 200) {
    this.text = text;
    this.status = status;
  }
}

/** An answer without a body: 204. */
export const NO_CONTENT: unique symbol = Symbol('nothing');
