/** The package has no types of its own. */
declare module 's3rver' {
  import type { IncomingMessage } from 'node:http';
  import type { AddressInfo } from 'node:net';

  /** Of Koa: what one request is, and what is answered. */
  export interface Call {
    readonly method: string;
    readonly path: string;
    readonly req: IncomingMessage;
    status: number;
    body: unknown;
  }

  export default class S3rver {
    constructor(options: {
      readonly address: string;
      readonly port: number;
      readonly directory: string;
      readonly silent: boolean;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly middleware: ((call: Call, next: () => Promise<void>) => Promise<void>)[];
    run(): Promise<AddressInfo>;
    close(): Promise<void>;
  }
}
