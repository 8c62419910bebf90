/** The S3 server in a process of its own: `server-child.ts FOLDER [PORT]` prints its address and ends with its input. */
import { S3Server } from './s3-server.ts';

const [folder, port = '0'] = process.argv.slice(2);
const server = await S3Server.start({ after() {} }, folder, Number(port));
// A write that fails is heard by nobody in there. A server of substance says that its disk is full, and goes on.
process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOSPC') return server.refuseFull();
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
process.stdout.write(`${server.endpoint}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
