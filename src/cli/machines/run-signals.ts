/** Signals for the machines of a run: those that the command line gives, and those that come on standard input. */
import { createInterface } from 'node:readline';
import { signalText } from '../../config/parse.ts';
import { isEngineError } from '../../core/errors.ts';

interface Sending {
  readonly send: (channel: string, data: unknown) => void;
  /** Says what is wrong with a line. */
  readonly complain: (text: string) => void;
}

/** Reads `CHANNEL=JSON`, one a line, until it is closed. A line that is neither is refused, and the next one counts. */
export function sendLines(input: NodeJS.ReadableStream, { send, complain }: Sending): () => void {
  const lines = createInterface({ input, crlfDelay: Infinity });
  lines.on('line', (line) => {
    if (line.trim() === '') return;
    try {
      for (const signal of signalText(line.trim(), 'signal')) if (signal !== '-') send(signal.channel, signal.data);
    } catch (error) {
      if (!isEngineError(error)) throw error;
      complain(error.message);
    }
  });
  return () => lines.close();
}
