/** A run has written down that it waits for a signal, and has left the process. No error of a state: nothing can route it. */
export class Left extends Error {
  override readonly name = 'Left';
  readonly channel: string;

  constructor(channel: string) {
    super(`the run waits for a signal on ${channel}`);
    this.channel = channel;
  }
}
