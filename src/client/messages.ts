/** One message of an event stream. A comment, which only shows that the node is there, has no data. */
export interface Message {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
}

/** A longer message is not one of ours. */
const LONGEST = 64 * 1024 * 1024;

/** Reads messages from bytes, in whatever pieces they come. A message that is cut off by the end is dropped. */
export class MessageReader {
  readonly #decoder = new TextDecoder();
  #text = '';

  /** The messages that these bytes complete. */
  read(bytes: Uint8Array): readonly Message[] {
    this.#text += this.#decoder.decode(bytes, { stream: true });
    const messages: Message[] = [];
    for (;;) {
      const end = /\r\n\r\n|\n\n|\r\r/.exec(this.#text);
      if (end === null) break;
      messages.push(parse(this.#text.slice(0, end.index)));
      this.#text = this.#text.slice(end.index + end[0].length);
    }
    if (this.#text.length > LONGEST) throw new Error('a message of the stream is too long');
    return messages;
  }
}

function parse(block: string): Message {
  const fields: { id?: string; event?: string } = {};
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') data.push(value);
    else if (name === 'id' || name === 'event') fields[name] = value;
  }
  return data.length === 0 ? fields : { ...fields, data: data.join('\n') };
}
