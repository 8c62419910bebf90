/** The S3 server of the benchmark: `server-child.ts FOLDER` prints its address and ends with its input. */
import { S3Server } from '../../test/support/s3/s3-server.ts';

const server = await S3Server.start({ after() {} }, process.argv[2]);
process.stdout.write(`${server.endpoint}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
