import type { Readable } from 'node:stream';
import type { Message } from '../events/sse.ts';

/** An answer as server-sent events: messages until it ends, or until the signal comes. */
export class EventStream {
  readonly messages: (signal: AbortSignal) => AsyncIterable<Message>;

  constructor(messages: (signal: AbortSignal) => AsyncIterable<Message>) {
    this.messages = messages;
  }
}

/** The response of another library, passed on with its own status. */
export class RawResponse {
  readonly response: Response;

  constructor(response: Response) {
    this.response = response;
  }
}

/** An answer that is JSON text already, with its status. */
export class JsonText {
  readonly text: string;
  readonly status: number;

  constructor(text: string, status = 200) {
    this.text = text;
    this.status = status;
  }
}

/** A file, or a part of one, that goes out as it is read. Its reader is opened when it is sent. */
export class FileAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: there is nothing to send but the headers. */
  readonly read: (() => Promise<Readable>) | undefined;

  constructor(status: number, headers: Readonly<Record<string, string>>, read: FileAnswer['read']) {
    this.status = status;
    this.headers = headers;
    this.read = read;
  }
}

/** An answer without a body: 204. */
export const NO_CONTENT: unique symbol = Symbol('nothing');
