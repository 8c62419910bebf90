/** The S3 server in a process of its own: `server-child.ts FOLDER` prints its address and ends with its input. */
import { S3Server } from './s3-server.ts';

const server = await S3Server.start({ after() {} }, process.argv[2]);
process.stdout.write(`${server.endpoint}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
