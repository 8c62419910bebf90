import type { GivenTo } from '../../src/app/link/link-terms.ts';

/** For tests of links, which are not about permissions. */
export const everythingGiven: GivenTo = () =>
  Promise.resolve({
    tags: [],
    grant: {
      permissions: {
        handlers: ['*'],
        queues: ['*'],
        tags: ['*'],
        workers: ['*'],
        limits: ['*'],
        channels: ['*'],
        reuse: true,
      },
    },
  });
