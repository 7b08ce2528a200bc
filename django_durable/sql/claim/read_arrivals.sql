-- Read what entered the line after a number of the arrival sequence: the tail where transaction ids cannot be used.
--   rides on   durable_arrival
--   locks      nothing
--   returns    queue, group_key, rank, line of the first row of each group and rank
SELECT new.queue, new.group_key, new.rank, min(new.line)
FROM (
    SELECT w.queue, w.group_key, w.rank, w.line
    FROM durable_workflow_status AS w
    WHERE w.arrival IS NOT NULL AND w.arrival > %(floor)s
) AS new
GROUP BY new.queue, new.group_key, new.rank
