// A handler reports its outcome with a return value: done, come back later, or give up. Only an exception is a failure, which
// is retried after a backoff.
import { done, giveUp, isEngineError, open, retryAfter, task } from 'leasehold';

/** An API that allows one call in 300 ms, has no paper named "lost", and fails once. */
const api = {
  freeAt: 0,
  stumbles: 1,
  get(paper: string): { status: number; retryMs?: number; title?: string } {
    const now = Date.now();
    if (now < this.freeAt) return { status: 429, retryMs: this.freeAt - now };
    this.freeAt = now + 300;
    if (paper === 'lost') return { status: 404 };
    if (paper === 'shaky' && this.stumbles-- > 0) return { status: 500 };
    return { status: 200, title: `On ${paper}` };
  },
};

const fetchPaper = task('fetch-paper', {
  maxAttempts: 2,
  retry: { baseMs: '50ms' },
  run(input, ctx) {
    const paper = String(input);
    const { status, retryMs, title } = api.get(paper);
    if (status === 429) return retryAfter(retryMs ?? 1000, 'rate limit'); // uses up no try, however often
    if (status === 404) return giveUp(`there is no paper ${paper}`); // final, whatever tries are left
    if (status !== 200) throw new Error(`the API answered ${status}`); // uses up a try
    return done({ title, tries: ctx.tries }); // or simply: return { … }
  },
});

const app = await open('memory:');
const worker = app.worker({ tasks: [fetchPaper], slots: 4 });
await worker.start();

// All at once, so that the API refuses most of them at first.
const handles = await app.pushMany(fetchPaper, ['bees', 'ants', 'shaky', 'lost']);
for (const handle of handles) {
  try {
    const { title, tries } = await handle.result();
    console.log(`${title}: done, tries used: ${tries}`);
  } catch (error) {
    if (!isEngineError(error, 'TASK_FAILED')) throw error;
    console.log(`failed (${String(error.details?.reason)}): ${String(error.details?.problem)}`);
  }
}

await app.close();
