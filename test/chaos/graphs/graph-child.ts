/** A worker for runs of graphs. It dies by SIGKILL right after the commit of a number, if one is given. */
import { graphs } from '../../../src/app/graphs/graph-handler.ts';
import { type MortalPlace, MortalWorker } from '../mortal-worker.ts';

const [how, address, effects, dieAt] = process.argv.slice(2) as [MortalPlace['how'], string, string, string];

const worker = new MortalWorker(`commit:${dieAt}`);
await worker.live({ how, address, effects }, [worker.mortal(graphs())]);
